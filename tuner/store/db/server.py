"""One process of PostgreSQL on one cluster, whose files are created once and checked."""

import hashlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.errors import DuplicateObject

from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.store.db.binaries import MAJOR, Account
from tuner.store.db.engine import connect, translated

# ---- The files of the embedded server: created once, checked before every start

USER = "tuner"
"""The superuser: it makes the role and the database of the service, and nothing else."""

SERVICE = "tuner_service"
"""The role of the service. It owns its database and has no other right: a restored dump, whose code
runs as this role, can start no program and read no file.
"""

DATABASE = "tuner"
WRITTEN_WITHIN_S = 2.0  # after its creation; an empty file is left by a crash in between
_INITDB = (
    f"--username={USER}",
    "--auth=trust",  # only the owner and root may enter the socket's directory
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",  # the same order on every machine
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
)


def create(bindir: Path, target: Path, account: Account) -> None:
    """Create a whole cluster at `target`, or nothing; `account` owns it.

    Raises `Unavailable`; the message names a full disk.
    """
    scratch = target.with_name("postgres.new")  # a killed attempt may have left one
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        scratch.mkdir(mode=0o700)
        os.chown(scratch, account.uid, account.gid)
    except OSError as error:
        raise Unavailable("postgresql", f"cannot create {scratch}: {error.strerror}") from error
    done = _as(account, [str(bindir / "initdb"), "-D", str(scratch), *_INITDB])
    if done.returncode != 0:
        shutil.rmtree(scratch, ignore_errors=True)
        raise Unavailable("postgresql", _why_no_initdb(done, target))
    scratch.rename(target)


def major_of(cluster: Path) -> int:
    """The major version of PostgreSQL that made the cluster. Raises `InvalidInput` for none."""
    try:
        return int((cluster / "PG_VERSION").read_text().partition(".")[0])
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its PG_VERSION is no number"
        message = f"{cluster} holds no PostgreSQL cluster ({why}); move it away"
        raise InvalidInput.at("TUNER_DATA_DIR", message) from error


def check_not_newer(cluster: Path) -> None:
    """Raise `InvalidInput` for a cluster of a later major version, or for no cluster."""
    if (found := major_of(cluster)) > int(MAJOR):
        message = (
            f"PostgreSQL {found} initialized {cluster}, and this version of tuner has {MAJOR}; "
            "install the version that used it last"
        )
        raise InvalidInput.at("TUNER_DATA_DIR", message)


def check_major(cluster: Path) -> None:
    """Raise `InvalidInput` for a cluster of another major version, or for no cluster."""
    check_not_newer(cluster)
    if (found := major_of(cluster)) < int(MAJOR):
        command = f"TUNER_DATA_DIR={shlex.quote(str(cluster.parent))} tuner db upgrade"
        message = (
            f"PostgreSQL {found} initialized {cluster}, and {MAJOR} cannot read it; run "
            f"`{command}`, which brings it to {MAJOR} and keeps the old files"
        )
        raise InvalidInput.at("TUNER_DATA_DIR", message)


def clear_stale_locks(cluster: Path, socket: Path) -> None:
    """Remove the lock files of an ended server.

    PostgreSQL only checks that no process has the old number. A zombie has it, or another program
    after a reboot: the server would never start again. Raises `Unavailable` if a server that we
    did not start runs on the directory.
    """
    pid_file = cluster / "postmaster.pid"
    pid = _pid_in(pid_file)
    if pid and _is_server_of(pid, cluster):
        detail = f"another server (process {pid}) runs on {cluster}; stop it"
        raise Unavailable("postgresql", detail)
    for stale in (pid_file, socket.with_name(f"{socket.name}.lock"), socket):
        stale.unlink(missing_ok=True)


_CREATION_LOCK = 7_808
_OWNER = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = %s"
_HAND_OVER = f"""
DO $$ DECLARE statement text; BEGIN
    FOR statement IN
        SELECT format('ALTER %s %s OWNER TO {SERVICE}', kind, name) FROM (
            SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END,
                   relation.oid::regclass::text
              FROM pg_class AS relation WHERE relnamespace = 'public'::regnamespace
               AND relkind IN ('r', 'p', 'v', 'S') AND NOT EXISTS (
                   SELECT FROM pg_depend WHERE objid = relation.oid AND deptype IN ('a', 'i'))
            UNION ALL SELECT 'ROUTINE', oid::regprocedure::text
              FROM pg_proc WHERE pronamespace = 'public'::regnamespace
            UNION ALL SELECT 'TYPE', oid::regtype::text
              FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype = 'e'
        ) AS owned(kind, name)
    LOOP EXECUTE statement; END LOOP;
    ALTER SCHEMA public OWNER TO pg_database_owner;
END $$
"""  # noqa: S608  all names are ours


def create_database(server: "Server") -> None:
    """Create our database and its owner, if they are missing. Raises `Unavailable`.

    An earlier version made the database as the superuser: it is handed over to its role.
    """
    try:
        with connect(server.admin_url("postgres")) as connection:
            connection.execute("SET statement_timeout = 0")  # it copies files
            connection.execute("SELECT pg_advisory_lock(%s)", [_CREATION_LOCK])
            owner = (connection.execute(_OWNER, [DATABASE]).fetchone() or (None,))[0]
            if owner == SERVICE:
                return
            with suppress(DuplicateObject):
                connection.execute(f"CREATE ROLE {SERVICE} LOGIN")
            if owner is None:
                connection.execute(f"CREATE DATABASE {DATABASE} OWNER {SERVICE}")
                return
            with connect(server.admin_url(DATABASE)) as ours:
                ours.execute(_HAND_OVER)
            connection.execute(f"ALTER DATABASE {DATABASE} OWNER TO {SERVICE}")
    except psycopg.OperationalError as error:
        raise Unavailable("postgresql", str(error).partition("\n")[0]) from error


def _pid_in(pid_file: Path) -> int:
    """The number in it; 0 for none. A server that starts creates the file before it writes."""
    deadline = time.monotonic() + WRITTEN_WITHIN_S
    try:
        while not (text := pid_file.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return int(text.partition("\n")[0])
    except (FileNotFoundError, ValueError):
        return 0


def _is_server_of(pid: int, cluster: Path) -> bool:
    """Whether a live process of this number works in the cluster's directory, as a server does."""
    process = Path("/proc", str(pid))
    if sys.platform != "linux" or not process.exists():
        return False
    try:
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z" and (process / "cwd").readlink() == cluster
    except OSError:  # it has ended, or belongs to another user: we could not join it
        return False


def _as(account: Account, command: list[str]) -> subprocess.CompletedProcess[str]:
    root = os.geteuid() == 0
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={"PATH": os.defpath, "LC_ALL": "C", "TMPDIR": tempfile.gettempdir()},
        user=account.uid if root else None,
        group=account.gid if root else None,
        extra_groups=[] if root else None,
    )


def _why_no_initdb(done: subprocess.CompletedProcess[str], target: Path) -> str:
    lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
    said = " | ".join(lines or done.stderr.splitlines()[-3:] or [f"status {done.returncode}"])
    if "No space left on device" in done.stderr:
        return f"the disk of {target.parent} is full: {said}"
    return f"initdb failed in {target.parent}: {said}"


# ---- One process of PostgreSQL on one cluster: started, asked, stopped
#
# It ends with the thread that started it, and it inherits a lock, which shows that it runs.

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

    @property
    def url(self) -> str:
        """The URL of our database for its service, for libpq and SQLAlchemy."""
        return self._url(SERVICE, DATABASE)

    def admin_url(self, database: str) -> str:
        """The URL of one of its databases for the superuser."""
        return self._url(USER, database)

    def _url(self, user: str, database: str) -> str:
        return f"postgresql://{user}@/{database}?host={quote(str(self._socket_dir))}"

    @property
    def process(self) -> subprocess.Popen[bytes] | None:
        """Its process, if this object started it; the process may have ended."""
        return self._process

    def has_database(self) -> bool:
        """Whether it has our database; it must run. Raises `Unavailable`."""
        with translated(), connect(self.admin_url("postgres")) as connection:
            return connection.execute(_OWNER, [DATABASE]).fetchone() is not None

    def answers(self) -> bool:
        """Whether a server answers at the socket, whoever started it."""
        try:
            connect(self.admin_url("postgres")).close()
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
        clear_stale_locks(self._folder, self._socket_dir / _SOCKET_NAME)
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
