"""The volumes of a service: volumes of the arm's own, files that are read, folders in memory."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.masking import has_secrets
from tuner.targets.compose.dockerfile import Dockerfile
from tuner.targets.compose.document import Node, text_of
from tuner.targets.compose.findings import Findings

MOST_CHARACTERS = 200_000
_MOST_FILES = 20
_OF_THE_HOST = re.compile(r"/(?:etc/(?:localtime|timezone|hosts|resolv\.conf|ssl/.*)|dev/.*)")
_CONTROLS_HOST = re.compile(r".*\.sock|/proc(?:/.*)?|/sys(?:/.*)?|/|/var/run|/run")
_CONFIGURES = re.compile(
    r"/etc/|/docker-entrypoint-initdb\.d|\.d(?:/|$)|conf|settings|scripts", re.IGNORECASE
)
_MAY_RUN = 0o111
_CODE = (
    "the source code: an arm runs what is in the image. If that has no code, build one with it:"
    " give `build` in the compose file, or --image NAME"
)
_TOO_LARGE = (
    f"the container runs a file of it, and it is no folder of at most {_MOST_FILES} texts: COPY it"
    " in a Dockerfile"
)
_OF_KEYS = re.compile(r".*\.(?:pem|key|p12|pfx|jks)|id_\w+|\.?htpasswd|\.pgpass", re.IGNORECASE)
_IGNORED = re.compile(r"\.(?:git.*|keep|DS_Store|dockerignore)|Dockerfile.*")


@dataclass(frozen=True, slots=True)
class Mount:
    """One entry of `volumes`, `configs` or `tmpfs`, in the short and in the long form."""

    node: Node
    kind: str  # bind, volume, tmpfs or config: one with its text, or without anything to be read
    source: str  # a host path, the name of a volume, or nothing
    target: str
    read_only: bool = False
    size: str = ""
    content: Node | None = None  # the text of a config that the compose file itself has
    is_run: bool = False  # the container starts or tests with a file of it
    is_code: bool = False  # the container works in it, or it has the compose file

    @property
    def text(self) -> str:
        """As the short form has it."""
        return f"{self.source}:{self.target}"

    @property
    def host(self) -> Path:
        """Where the host has it."""
        return self.node.host_path(self.source).resolve()


@dataclass(slots=True)
class Mounted:
    """What a container gets. `files` are host files or texts by their paths in the container.

    `data` are the other folders of the host.
    """

    volumes: list[str] = field(default_factory=list)
    data: list[Mount] = field(default_factory=list)
    files: dict[str, Path | str] = field(default_factory=dict)
    executables: set[str] = field(default_factory=set)  # those of the files
    tmpfs: list[str] = field(default_factory=list)


def mounts_of(service: Node, root: Node) -> list[Mount]:
    """All mounts of a service: of two with the same path the later one counts."""
    found: dict[str, Mount] = {}
    for node in service.get("volumes").each():
        mount = _long(node) if node.items() else _short(node)
        found[mount.target] = mount
    for node in service.get("tmpfs").each():
        target, _, options = node.text.partition(":")
        size = re.search(r"size=(\w+)", options)
        found[target] = Mount(node, "tmpfs", "", target, size=size[1] if size else "")
    for node in service.get("configs").each():
        mount = _config(node, root)
        found[mount.target] = mount
    return [_with_use(mount, service) for mount in found.values()]


_STARTS = (("entrypoint",), ("command",), ("healthcheck", "test"))


def _with_use(mount: Mount, service: Node) -> Mount:
    if mount.kind != "bind":
        return mount
    words = " ".join(each.text for keys in _STARTS for each in service.get(*keys).each())
    target = mount.target.rstrip("/")
    has_project = mount.node.folder.resolve().is_relative_to(mount.host)
    is_code = has_project or service.text_of("working_dir").rstrip("/") == target
    names_file = re.search(rf"(?<![\w./-]){re.escape(target)}/[\w.-]", words) is not None
    return replace(mount, is_code=is_code, is_run=names_file and not is_code)


def _config(node: Node, root: Node) -> Mount:
    """A config: a file of the host beside its compose file, or a text in the compose file."""
    name = node.text or node.text_of("source")
    given = root.get("configs", name)
    target = node.text_of("target") or f"/{name}"
    if file := given.text_of("file"):
        at = replace(node, home=given.folder)
        return Mount(at, "bind", f"./{file}", target, read_only=True)
    content = given.get("content")
    return Mount(node, "config", name, target, read_only=True, content=content or None)


def texts_of(service: Node, root: Node) -> str:
    """The texts of all files that a service gets."""
    each = (file for mount in mounts_of(service, root) for file in _files(mount).values())
    return "\n".join(text_of(file) if isinstance(file, Path) else file for file in each)


def file_at(mounts: list[Mount], path: str) -> Path | None:
    """The host file that a container has at a path, or at the end of a path."""
    wanted = PurePosixPath(path)
    if not wanted.is_absolute():
        ends = [m for m in mounts if m.kind == "bind" and m.target.endswith(f"/{wanted.name}")]
        return ends[0].host if len(ends) == 1 and ends[0].host.is_file() else None
    for mount in mounts:
        target = PurePosixPath(mount.target)
        if mount.kind == "bind" and wanted.is_relative_to(target):
            found = mount.host / wanted.relative_to(target)
            if found.is_file():
                return found
    return None


def text_at(mounts: list[Mount], path: str) -> str | None:
    """The text of a config that a container has at a path, or at the end of a path."""
    found = [m.content.text for m in mounts if m.content and PurePosixPath(m.target).match(path)]
    return found[0] if len(found) == 1 else None


def only_ini(mounts: list[Mount]) -> Path | None:
    """The host file of the only uwsgi.ini that a container gets."""
    files = [item for mount in mounts for item in _files(mount).items()]
    found = [
        file
        for path, file in files
        if path.endswith(".ini") and "uwsgi" in path and isinstance(file, Path)
    ]
    return found[0] if len(found) == 1 else None


def refuse(mounts: list[Mount], findings: Findings) -> None:
    """Refuse sockets and folders through which a container controls the host."""
    for mount in mounts:
        if mount.kind == "bind" and _CONTROLS_HOST.fullmatch(mount.source.rstrip("/") or "/"):
            why = "with it a container controls the host: remove it, or leave the service out"
            findings.mistakes.append(mount.node.mistake(f"{mount.source}: {why}"))


def mounted(
    name: str, mounts: list[Mount], build: Dockerfile | None, findings: Findings
) -> Mounted:
    """What an arm gives the container. `build` is the Dockerfile that its image is built from."""
    found = Mounted()
    for mount in mounts:
        what = f"{name}.volumes {mount.text}"
        if mount.kind == "tmpfs":
            found.tmpfs.append(f"{mount.target}:size={mount.size}" if mount.size else mount.target)
        elif mount.kind == "volume":
            found.volumes.append(":".join(part for part in (mount.source, mount.target) if part))
        elif mount.kind == "config" and mount.content is None:
            why = "its text is not in the file: give it in `files`, {PATH: {file: NAME}}"
            findings.todo(f"{name}.configs {mount.text}", why)
        elif _OF_THE_HOST.fullmatch(mount.source):
            findings.left_out(what, "a container has its own file of this kind")
        elif build is not None and _is_in_image(mount, build):
            findings.left_out(what, "the source code: an arm runs what is in the image")
        elif build is None and mount.is_code and mount.host.is_dir():
            findings.todo(what, _CODE)
        else:
            _take(found, mount, what, findings)
    return found


def _take(found: Mounted, mount: Mount, what: str, findings: Findings) -> None:
    """Take a file or a folder of the host: as texts, or as a volume for data."""
    if files := _files(mount):
        found.files |= files
        found.executables |= {path for path, file in files.items() if _is_run(mount, file)}
        if not mount.read_only:
            findings.changed(what, "an arm has a copy that cannot be written")
    elif mount.host.is_file():
        why = f"no text of at most {MOST_CHARACTERS} characters: COPY it in the Dockerfile"
        findings.todo(what, why)
    else:
        if mount.is_run and mount.host.is_dir():
            findings.todo(what, _TOO_LARGE)
        found.data.append(mount)


def _is_in_image(mount: Mount, build: Dockerfile) -> bool:
    """Whether the image has the folder at the same place, as far as the Dockerfile shows it."""
    if mount.host == build.context and build.copies:
        works_there = PurePosixPath(build.folder).is_relative_to(mount.target)
        return build.find(mount.target) is not None or works_there
    return build.context.is_relative_to(mount.host) or build.find(mount.target) == mount.host


def _is_run(mount: Mount, file: Path | str) -> bool:
    """Whether somebody may execute the file: by the mode of a config, or of the host's file."""
    mode = mount.node.text_of("mode")
    if re.fullmatch(r"(?:0o?)?[0-7]+", mode):
        return bool(int(mode.removeprefix("0o"), 8) & _MAY_RUN)
    return isinstance(file, Path) and bool(file.stat().st_mode & _MAY_RUN)


def _files(mount: Mount) -> Mapping[str, Path | str]:
    """The small texts of a mount; nothing if it has anything else, or is there for data."""
    if mount.content is not None:
        return {mount.target: mount.content.text}
    if mount.kind != "bind" or not mount.host.exists():
        return {}
    if mount.host.is_file():
        return {mount.target: mount.host} if _is_small_text(mount.host) else {}
    if not (mount.read_only or mount.is_run or _CONFIGURES.search(mount.target)):
        return {}
    found: dict[str, Path] = {}
    for file in _inside(mount.host):
        if len(found) == _MOST_FILES or not _is_small_text(file):
            return {}
        found[str(PurePosixPath(mount.target) / file.relative_to(mount.host).as_posix())] = file
    return found


def holds_secrets(file: Path | str) -> bool:
    """Whether a file or a text looks as if it has secrets, by its name or by what it says."""
    if isinstance(file, str):
        return has_secrets(file)
    return _OF_KEYS.fullmatch(file.name) is not None or has_secrets(text_of(file))


def _inside(folder: Path) -> Iterator[Path]:
    try:
        each = sorted(islice(folder.rglob("*"), 50 * _MOST_FILES))  # data may have millions
    except OSError:
        return
    yield from (file for file in each if file.is_file() and not _IGNORED.fullmatch(file.name))


def _is_small_text(file: Path) -> bool:
    try:
        if file.stat().st_size > 4 * MOST_CHARACTERS:
            return False
        text = text_of(file)
    except (OSError, InvalidInput):
        return False
    return len(text) <= MOST_CHARACTERS and "\0" not in text


def _short(node: Node) -> Mount:
    source, colon, rest = node.text.partition(":")
    if not colon:
        return Mount(node, "volume", "", source)
    target, _, options = rest.partition(":")
    kind = "bind" if source.startswith((".", "/", "~")) else "volume"
    return Mount(node, kind, source, target, read_only="ro" in options.split(","))


def _long(node: Node) -> Mount:
    return Mount(
        node,
        node.text_of("type") or "volume",
        node.text_of("source"),
        node.text_of("target"),
        read_only=node.text_of("read_only").lower() == "true",
        size=node.text_of("tmpfs", "size"),
    )


# ---- How target.yaml calls files and folders of the host: what is elsewhere is copied beside it


_READ_BY_OTHERS = 0o004


@dataclass(slots=True)
class Places:
    """The names in the app's folder. `texts` and `folders` are still to be written there."""

    home: Path
    findings: Findings
    texts: dict[str, str] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)  # texts that others cannot read where they are

    def of_text(self, part: str, file: Path, wanted: str = "") -> str:
        """The name of a text file of a part of the app."""
        file = file.resolve()
        if file.is_relative_to(self.home):
            return file.relative_to(self.home).as_posix()
        text = text_of(file)
        for place in (wanted or file.name, f"{part}-{file.parent.name}-{file.name}"):
            if self.texts.setdefault(place, text) == text:
                if not file.stat().st_mode & _READ_BY_OTHERS or holds_secrets(file):
                    self.private.add(place)
                return place
        return self._taken(file)

    def of_folder(self, part: str, folder: Path) -> str:
        """The name of a folder with data of a part of the app."""
        if folder.is_relative_to(self.home):
            return f"./{folder.relative_to(self.home).as_posix()}"
        for place in (folder.name, f"{part}-{folder.name}"):
            if place not in self.texts and self.folders.setdefault(place, folder) == folder:
                return f"./{place}"
        return self._taken(folder)

    def _taken(self, path: Path) -> str:
        told = "has the name of another file: rename one of them"
        self.findings.mistakes.append(Mistake(str(path), told))
        return path.name
