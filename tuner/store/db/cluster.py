"""The files of the embedded server: created once, checked before every start."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg
from psycopg.errors import DuplicateDatabase, UniqueViolation

from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.store.db.binaries import MAJOR, Account
from tuner.store.db.engine import connect

USER = "tuner"
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


def create_database(admin_url: str) -> None:
    """Create our database if it is missing. Two may try at once. Raises `Unavailable`."""
    try:
        with connect(admin_url) as connection:
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(query, [DATABASE]).fetchone() is None:
                connection.execute("SET statement_timeout = 0")  # it copies files
                connection.execute(f"CREATE DATABASE {DATABASE}")
    except (DuplicateDatabase, UniqueViolation):
        return
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
