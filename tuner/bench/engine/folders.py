"""Folders of target apps with which volumes start: their hash, and their content as a tar."""

import hashlib
import io
import json
import os
import re
import stat
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from docker.utils import exclude_paths

from tuner.bench.measurement import target_failed
from tuner.nouns.errors import NotFound, TargetFailed
from tuner.nouns.model import BYTES_PER_MB, FailureCode

MOST_MB = 1024  # of one folder
MOST_ENTRIES = 20_000
_PIECE = 1 << 20
_CHANGED = "it changed meanwhile: stop what writes to it"


@dataclass(frozen=True, slots=True)
class AppFolder:
    """A folder as it was when its `sha256` was made. Messages call it `name`.

    The hash counts names, kinds, modes, owners and content, and no times: these differ between
    hosts that have the same data.
    """

    name: str
    path: Path
    sha256: str

    def packed(self, at: str) -> Iterator[bytes]:
        """A tar with the folder at the path `at`. Raises `TargetFailed` if it has changed."""
        digest = hashlib.sha256()
        for entry in _entries(self.path, self.name):
            yield from entry.packed(at, digest.update)
        if digest.hexdigest() != self.sha256:
            raise _refused(self.name, _CHANGED)
        yield bytes(2 * tarfile.BLOCKSIZE)


@dataclass(slots=True)
class AppFolders:
    """The folders of one host, each read once for each job. One for the whole process.

    `app_dir` names the folder of a target app.
    """

    app_dir: Callable[[str], Path]
    _known: dict[tuple[str, Path], AppFolder] = field(default_factory=dict)
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def of(self, job: str, app: str | None, source: str) -> AppFolder:
        """The folder `source` of a target app, as it was when the job first asked for it.

        Raises `TargetFailed` if it is not there, is too large, or cannot be read as a whole.
        """
        name = f"the folder {source} of {app}"
        if app is None:
            raise _refused(source, "only a target app has folders to copy")
        try:
            home = self.app_dir(app)
        except NotFound as error:
            raise _refused(name, str(error)) from error
        path = (home / source).resolve()
        if not path.is_relative_to(home.resolve()):
            raise _refused(name, "it is a link that leaves the app's folder")
        if not path.is_dir():
            raise _refused(name, "there is no such folder")
        with self._reading:
            if (job, path) not in self._known:
                self._known[job, path] = AppFolder(name, path, _sha256(path, name))
            return self._known[job, path]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file, a folder or a link; `info.name` is its path from the folder on."""

    path: Path
    info: tarfile.TarInfo
    folder: str

    def packed(self, at: str, count: Callable[[bytes], object]) -> Iterator[bytes]:
        """Its part of a tar. `count` gets all that the hash is made of."""
        info = self.info
        kind = info.type.decode()
        kept = (info.name, kind, info.mode, info.uid, info.gid, info.linkname, info.size)
        count(json.dumps(kept).encode())
        info.name = f"{at}/{info.name}"
        if info.islnk():
            info.linkname = f"{at}/{info.linkname}"
        yield info.tobuf(tarfile.PAX_FORMAT)
        if info.isreg():
            for piece in self._content():
                count(piece)
                yield piece
            yield bytes(-info.size % tarfile.BLOCKSIZE)

    def _content(self) -> Iterator[bytes]:
        """As many bytes as the tar expects."""
        left = self.info.size
        try:
            with self.path.open("rb") as file:
                while left and (piece := file.read(min(left, _PIECE))):
                    left -= len(piece)
                    yield piece
        except OSError as error:
            raise _refused(self.folder, f"{self.path.name}: {error.strerror}") from error
        if left:
            raise _refused(self.folder, _CHANGED)


def _sha256(path: Path, name: str) -> str:
    digest = hashlib.sha256()
    for entry in _entries(path, name):
        for _ in entry.packed("", digest.update):
            pass
    return digest.hexdigest()


def _entries(path: Path, name: str) -> Iterator[_Entry]:
    """The folder itself and all in it, in a fixed order; without sockets."""
    size = 0
    with tarfile.open(fileobj=io.BytesIO(), mode="w") as tar:
        for number, each in enumerate(_paths(path, name)):
            inside = each.relative_to(path).as_posix()
            try:
                if stat.S_ISSOCK(each.lstat().st_mode):
                    continue
                info = tar.gettarinfo(each, inside)
            except OSError as error:
                raise _refused(name, f"{inside}: {error.strerror}") from error
            size += info.size
            if number > MOST_ENTRIES or size > MOST_MB * BYTES_PER_MB:
                raise _refused(name, f"it has more than {MOST_ENTRIES} entries or {MOST_MB} MB")
            if info.issym() and _leaves(inside, info.linkname):
                raise _refused(name, f"{inside} is a link to {info.linkname}, outside of it")
            if not (info.isreg() or info.isdir() or info.issym() or info.islnk()):
                raise _refused(name, f"{inside} is neither a file nor a folder nor a link")
            info.uname = info.gname = ""
            yield _Entry(each, info, name)


def _paths(path: Path, name: str) -> Iterator[Path]:
    """Without following links."""

    def refuse(error: OSError) -> NoReturn:
        raise _refused(name, f"{error.filename}: {error.strerror}") from error

    yield path
    for at, folders, files in os.walk(path, onerror=refuse):
        folders.sort()
        yield from (Path(at, each) for each in sorted((*folders, *files)))


def _leaves(path: str, link: str) -> bool:
    found = os.path.normpath(os.path.join(os.path.dirname(path), link))
    return os.path.isabs(link) or found == ".." or found.startswith("../")


def _refused(name: str, why: str) -> TargetFailed:
    return target_failed(FailureCode.PREPARE_FAILED, f"{name}: {why}")


# ---- A target app's folder as the engine gets it for a build, and the hash of its content

_NEVER = ["**/__pycache__", "**/*.pyc", ".git"]  # they change while the app stays the same


@dataclass(frozen=True, slots=True)
class Context:
    """The files of a build, with their content."""

    files: tuple[tuple[str, int, bytes], ...]  # path, mode, content

    @property
    def sha256(self) -> str:
        """Depends on each file's name, mode and content only."""
        digest = hashlib.sha256()
        for path, mode, content in self.files:
            digest.update(f"{path}\0{mode:o}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()

    def tag(self, app: str, base: str, part: str = "") -> str:
        """The name of its image on the base with that id; `part` is its folder within the app."""
        name = hashlib.sha256(f"{self.sha256} {base}".encode()).hexdigest()[:16]
        suffix = f"-{_safe(part)}" if part else ""
        return f"uwsgi-tuner/target-{app}{suffix}:{name}"

    def archive(self) -> bytes:
        """A tar for the engine."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for path, mode, content in self.files:
                entry = tarfile.TarInfo(path)
                entry.size, entry.mode = len(content), mode
                tar.addfile(entry, io.BytesIO(content))
        return buffer.getvalue()


def read(folder: Path) -> Context:
    """Read a folder without the files in its `.dockerignore`. Raises `TargetFailed`."""
    if not (folder / "Dockerfile").is_file():
        raise target_failed(FailureCode.BUILD_FAILED, f"there is no Dockerfile in {folder}")
    ignore = folder / ".dockerignore"
    lines = ignore.read_text().splitlines() if ignore.is_file() else []
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    paths = sorted(exclude_paths(str(folder), [*patterns, *_NEVER], dockerfile="Dockerfile"))
    regular = [path for path in paths if (folder / path).is_file()]
    return Context(
        tuple(
            (path, (folder / path).stat().st_mode & 0o777, (folder / path).read_bytes())
            for path in regular
        )
    )


def _safe(folder: str) -> str:
    """A folder's path as part of an image's name."""
    return re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-") or "part"
