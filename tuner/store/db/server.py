"""One process of PostgreSQL on one cluster: started, asked, stopped.

It ends with the thread that started it, and it inherits a lock, which shows that it runs.
"""

import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psycopg

from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.store.db import cluster
from tuner.store.db.binaries import Account
from tuner.store.db.engine import connect

START_TIMEOUT_S = 60.0  # crash recovery of a busy database on a loaded machine
STOP_TIMEOUT_S = 10.0  # for a fast shutdown; then an immediate one
_SOCKET_PATH_LIMIT = 107  # bytes, of sockaddr_un
_SOCKET_NAME = ".s.PGSQL.5432"
_LOG_KEPT = 10_000_000  # bytes; a longer log starts anew
_TELLING = ("FATAL", "PANIC", "ERROR", "HINT", "error:", "gone")

# Runs between fork and postgres. It is a program: a preexec_fn may deadlock beside other threads.
# It asks for the signal of its parent's death last, because a change of user would cancel it.
_LAUNCHER = """
import ctypes, os, signal, sys
parent, uid, gid, program = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGINT)
if os.getppid() != parent:
    sys.exit("the process that wanted a server is gone")
os.execv(program, sys.argv[4:])
"""


class Server:
    """The server of one cluster, not yet started."""

    def __init__(
        self, folder: Path, log: Path, settings: Mapping[str, str], *, socket_in: Path | None = None
    ) -> None:
        """`folder` is the cluster, `settings` are server options.

        The socket is in `socket_in`, default: the cluster; in a short folder below /tmp if the
        socket's path would be too long.
        """
        self._folder = folder
        self._log = log
        self._settings = dict(settings)
        self._socket_dir = _short(socket_in or folder)
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        """The URL of one of its databases, for libpq and SQLAlchemy."""
        return f"postgresql://{cluster.USER}@/{database}?host={quote(str(self._socket_dir))}"

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """Its process, if this object started it; the process may have ended."""
        return self._process

    def answers(self) -> bool:
        """Whether a server answers at the socket, whoever started it."""
        try:
            connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def forget_if_ended(self) -> None:
        """Another process may have started the server that answers, after ours had ended."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None

    def start(self, bindir: Path, account: Account, lock: int) -> None:
        """Start it and wait for its answer. The caller holds the lock of the open file `lock`.

        So no process of an earlier server is left. Raises `Unavailable` or `InvalidInput`.
        """
        if self._process is not None:
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None
        if self._socket_dir != self._folder:
            _make_private(self._socket_dir, account)
        cluster.clear_stale_locks(self._folder, self._socket_dir / _SOCKET_NAME)
        self._process = self._spawn(bindir, account, lock)
        self._await_answer(self._process)

    def stop(self) -> None:
        """Stop the server if it is ours: a fast shutdown, then an immediate one, then a kill."""
        process, self._process = self._process, None
        if process is None:
            return
        for number, patience_s in ((signal.SIGINT, STOP_TIMEOUT_S), (signal.SIGQUIT, 5.0)):
            if process.poll() is None:
                process.send_signal(number)
            try:
                process.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue
            return
        process.kill()
        process.wait()

    def forget_socket(self) -> None:
        """Remove the folder of the socket after the server's end, if it holds nothing else."""
        if self._socket_dir != self._folder:
            with suppress(OSError):
                self._socket_dir.rmdir()

    def _spawn(self, bindir: Path, account: Account, lock: int) -> subprocess.Popen[bytes]:
        options = {"unix_socket_permissions": "0700", "listen_addresses": "", **self._settings}
        command = [str(bindir / "postgres"), "-D", str(self._folder), "-k", str(self._socket_dir)]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER]
        who = [str(os.getpid()), str(account.uid), str(account.gid)]
        if self._log.exists() and self._log.stat().st_size > _LOG_KEPT:
            self._log.unlink()
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*launcher, *who, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={"PATH": os.defpath, "LC_ALL": "C"},
                pass_fds=[lock],
                process_group=0,  # Ctrl-C must not reach it: `stop` comes later
            )

    def _await_answer(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.answers():
            if process.poll() is not None:
                self._process = None
                raise Unavailable("postgresql", f"its server ended at once: {self._log_tail()}")
            if time.monotonic() > deadline:
                self.stop()
                detail = f"no answer within {START_TIMEOUT_S:.0f} s: {self._log_tail()}"
                raise Unavailable("postgresql", detail)
            time.sleep(0.02)

    def _log_tail(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        telling = [line for line in lines[-12:] if any(word in line for word in _TELLING)]
        return " | ".join(telling or lines[-3:])


def _short(folder: Path) -> Path:
    """`folder`; a short one below /tmp if the socket's path in it would be too long."""
    if len(os.fsencode(folder / _SOCKET_NAME)) <= _SOCKET_PATH_LIMIT:
        return folder
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    return Path("/tmp", f"tuner-pg-{os.geteuid()}-{digest}")  # noqa: S108  ours, and checked


def _make_private(folder: Path, account: Account) -> None:
    """Create a directory for a socket; refuse one that another user has created."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (os.geteuid(), account.uid):
        message = f"{folder} is needed for the socket, but another user owns it"
        raise InvalidInput.at("TUNER_DATA_DIR", message)
    os.chown(folder, account.uid, account.gid)
    folder.chmod(0o700)
