"""A PostgreSQL server of our own: it lives in the data directory and ends with this process.

A lock on `postgres.lock` shows whether it runs: the server's processes inherit the lock, so it is
free only after all of them have ended. `postmaster.pid` may be wrong after a reboot, in a new
container, or with a zombie.
"""

import fcntl
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

from tuner.db import binaries, cluster
from tuner.db.engine import connect
from tuner.errors import InvalidInput, Mistake, Unavailable

START_TIMEOUT_S = 60.0  # crash recovery of a busy database on a loaded machine
STOP_TIMEOUT_S = 10.0  # for a fast shutdown; then an immediate one
_SOCKET_PATH_LIMIT = 107  # bytes, of sockaddr_un
_SOCKET_NAME = ".s.PGSQL.5432"
ROOM = 64 << 20  # bytes: a few segments of its write-ahead log
_LOG_KEPT = 10_000_000  # bytes; a longer log starts anew

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


class EmbeddedPostgres:
    """One server on one data directory. Call `start` again after `poll` shows that it ended.

    A second process that starts it on the same directory joins the running server.
    """

    def __init__(self, data_dir: Path, *, settings: Mapping[str, str] | None = None) -> None:
        """`settings` are server options such as `{"fsync": "off"}` for tests."""
        self._home = data_dir.resolve()
        self._settings = dict(settings or {})
        self._cluster_dir = self._home / "postgres"
        self._log_path = self._home / "postgres.log"
        self._lock = self._home / "postgres.lock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its URL, for libpq and SQLAlchemy."""
        return self._url(cluster.DATABASE)

    @property
    def pid(self) -> int | None:
        """The server's process id, if this object started it."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Join the running server, or start it, and create its files if needed.

        Call it from the main thread: the server ends with the thread that started it.
        Raises `Unavailable` (no binaries, disk full, does not start) or `InvalidInput` (unusable
        directory).
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("start the server from the main thread: it ends with its starter")
        account = binaries.server_account()
        self._make_home(account)
        with self._lock_file() as lock:
            deadline = time.monotonic() + START_TIMEOUT_S
            while not taken(lock):
                if self._answers():
                    self._forget_if_ended()
                    break
                if time.monotonic() > deadline:
                    detail = f"another process holds {self._lock}, but its server does not answer"
                    raise Unavailable("postgresql", detail)
                time.sleep(0.05)
            else:
                self._run(account, lock)
        cluster.create_database(self._url("postgres"))

    def poll(self) -> int | None:
        """None while the server runs; else its exit status, -1 if it was not our child."""
        if self._process is not None:
            return self._process.poll()
        with self._lock_file() as lock:
            return -1 if taken(lock) else None

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

    def __enter__(self) -> "EmbeddedPostgres":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # ---- starting

    def _forget_if_ended(self) -> None:
        """Another process may have started the server that answers, after ours had ended."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None

    def _run(self, account: binaries.Account, lock: int) -> None:
        """The caller holds the lock: no process of an earlier server is left."""
        if self._process is not None:
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None
        bindir = binaries.runnable_by(account, binaries.find(), self._home)
        if not self._cluster_dir.is_dir():
            cluster.create(bindir, self._cluster_dir, account)
        cluster.check_major(self._cluster_dir)
        socket_dir = self._socket_dir()
        if socket_dir != self._cluster_dir:
            _make_private(socket_dir, account)
        cluster.clear_stale_locks(self._cluster_dir, socket_dir / _SOCKET_NAME)
        self._process = self._spawn(bindir, account, socket_dir, lock)
        self._await_answer(self._process)

    def _spawn(
        self, bindir: Path, account: binaries.Account, socket_dir: Path, lock: int
    ) -> subprocess.Popen[bytes]:
        options = {"unix_socket_permissions": "0700", "listen_addresses": "", **self._settings}
        command = [str(bindir / "postgres"), "-D", str(self._cluster_dir), "-k", str(socket_dir)]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER]
        who = [str(os.getpid()), str(account.uid), str(account.gid)]
        if self._log_path.exists() and self._log_path.stat().st_size > _LOG_KEPT:
            self._log_path.unlink()
        with self._log_path.open("ab") as log:
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
        while not self._answers():
            if process.poll() is not None:
                self._process = None
                raise Unavailable("postgresql", f"its server ended at once: {self._log_tail()}")
            if time.monotonic() > deadline:
                self.stop()
                detail = f"no answer within {START_TIMEOUT_S:.0f} s: {self._log_tail()}"
                raise Unavailable("postgresql", detail)
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            connect(self._url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def _log_tail(self) -> str:
        lines = self._log_path.read_text(errors="replace").splitlines()
        telling = [line for line in lines[-12:] if any(word in line for word in _TELLING)]
        return " | ".join(telling or lines[-3:])

    # ---- places

    def _url(self, database: str) -> str:
        return f"postgresql://{cluster.USER}@/{database}?host={quote(str(self._socket_dir()))}"

    def _socket_dir(self) -> Path:
        """The data directory; a short one below /tmp if the socket's path would be too long."""
        if len(os.fsencode(self._cluster_dir / _SOCKET_NAME)) <= _SOCKET_PATH_LIMIT:
            return self._cluster_dir
        digest = hashlib.sha256(os.fsencode(self._cluster_dir)).hexdigest()[:12]
        return Path("/tmp", f"tuner-pg-{os.geteuid()}-{digest}")  # noqa: S108  ours, and checked

    def _make_home(self, account: binaries.Account) -> None:
        try:
            if not self._home.is_dir():
                self._home.mkdir(parents=True)
                self._home.chmod(0o711)  # the server's user has to pass, with any umask of ours
        except OSError as error:
            raise _unusable(self._home, f"cannot be created: {error.strerror}") from error
        if not os.access(self._home, os.W_OK | os.X_OK):
            raise _unusable(self._home, "is not writable")
        barred = account.stopped_at(self._cluster_dir)
        if barred is not None:
            raise _unusable(
                self._home,
                f"is below {barred}. User {account.name!r} may not enter that, and PostgreSQL has "
                f"to run as this user instead of root. Run `chmod o+x {barred}`, choose another "
                "directory, or set TUNER_DATABASE_URL",
            )

    @contextmanager
    def _lock_file(self) -> Iterator[int]:
        """An open lock file; closing it frees our share of the lock, not the server's."""
        try:
            lock = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unusable(self._home, f"is not writable: {error.strerror}") from error
        with os.fdopen(lock):
            yield lock


_TELLING = ("FATAL", "PANIC", "ERROR", "HINT", "error:", "gone")


def require_room(data_dir: Path) -> None:
    """Raise `Unavailable` if the disk of an embedded server is almost full.

    A server that cannot write its log ends, and starts only when there is room again. So the
    operator needs the warning earlier.
    """
    if (data_dir / "postgres").is_dir() and (free := shutil.disk_usage(data_dir).free) < ROOM:
        detail = f"{free >> 20} MB are left on the disk of {data_dir}; free {ROOM >> 20} MB"
        raise Unavailable("postgresql", detail)


def taken(lock: int) -> bool:
    """Try to take the lock of an open file; whether it is ours now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _make_private(folder: Path, account: binaries.Account) -> None:
    """Create our directory below /tmp; refuse one that another user has created."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (os.geteuid(), account.uid):
        raise _unusable(folder, "is needed for the socket, but another user owns it")
    os.chown(folder, account.uid, account.gid)
    folder.chmod(0o700)


def _unusable(folder: Path, why: str) -> InvalidInput:
    return InvalidInput([Mistake("TUNER_DATA_DIR", f"{folder} {why}")])
