"""All compose files of a project as one: the files in order, what they include and extend."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.targets.compose.document import Node, read_tree, text_of
from tuner.targets.compose.interpolation import Variables

NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
"""What Compose looks for, in this order."""

_OVERRIDES = tuple(
    f"{name}.override.{end}" for name in ("compose", "docker-compose") for end in ("yml", "yaml")
)


def with_dotenv(variables: Variables, folder: Path) -> Variables:
    """The variables with those of the `.env` of a folder, if it has one."""
    env = folder / ".env"
    return variables.with_dotenv(text_of(env)) if env.is_file() else variables


def files_here(variables: Variables) -> tuple[Path, ...]:
    """The files that Compose finds itself: of COMPOSE_FILE, or of the current folder."""
    if given := variables.find("COMPOSE_FILE").value:
        separator = variables.find("COMPOSE_PATH_SEPARATOR").value or ":"
        return tuple(Path(name) for name in given.split(separator) if name)
    found = [
        next((Path(name) for name in names if Path(name).is_file()), None)
        for names in (NAMES, _OVERRIDES)
    ]
    return tuple(file for file in found if file is not None) if found[0] is not None else ()


@dataclass(slots=True)
class ComposeFile:
    """The compose files of a project in order, and those that they include and extend.

    All paths start from the folder of the first file.
    """

    files: tuple[Path, ...]
    variables: Variables
    mistakes: list[Mistake] = field(default_factory=list)
    _read: dict[tuple[Path, Path], Node] = field(default_factory=dict)
    is_made: bool = False  # of something else than the files
    _root: Node | None = None

    @property
    def file(self) -> Path:
        """The first file."""
        return self.files[0]

    @property
    def root(self) -> Node:
        """All files as one. Raises `InvalidInput` if one cannot be read."""
        if self._root is None:
            self._root = self._together(self.files, self.file.parent, self.variables, ())
        return self._root

    def give(self, root: Node) -> None:
        """Take this tree for the files."""
        self.is_made = True
        self._root = normal(root)

    @property
    def project(self) -> str:
        """The name that Compose gives to what it makes."""
        own = self.variables.find("COMPOSE_PROJECT_NAME").value
        name = own or self.root.text_of("name") or self.file.resolve().parent.name
        return re.sub(r"[^a-z0-9_-]", "", name.lower())

    def services(self) -> dict[str, Node]:
        """All services by name. Mistakes are collected."""
        return {
            name: replace(node, value={key: each for key, each in node.items().items() if each})
            for name, node in self.root.get("services").items().items()
        }

    def _together(
        self, files: Iterable[Path], home: Path, variables: Variables, trail: tuple[Path, ...]
    ) -> Node:
        """The files in order, each with what it includes and extends."""
        return reduce(merged, [self._one(file, home, variables, trail) for file in files])

    def _one(self, file: Path, home: Path, variables: Variables, trail: tuple[Path, ...]) -> Node:
        root = self._tree(file, home, variables)
        services = root.get("services")
        whole = {name: self._whole(node, variables, ()) for name, node in services.items().items()}
        if whole:
            root = replace(root, value={**root.items(), "services": replace(services, value=whole)})
        here = (*trail, file.resolve())
        each = [self._included(node, variables, here) for node in root.get("include").each()]
        return reduce(merged, [*(node for node in each if node is not None), root])

    def _included(
        self, include: Node, variables: Variables, trail: tuple[Path, ...]
    ) -> Node | None:
        """The files of one `include`, with their own folder and variables."""
        paths = [include] if include.text else include.get("path").each()
        files = [include.host_path(node.text) for node in paths]
        if not files or any(file.resolve() in trail for file in files):
            self.mistakes.append(include.mistake("it names no file, or one that includes it"))
            return None
        own = include.text_of("project_directory")
        home = include.host_path(own) if own else files[0].parent
        names = [include.host_path(node.text) for node in include.get("env_file").each()]
        try:
            for env in reversed(names or [file for file in (home / ".env",) if file.is_file()]):
                variables = variables.before(text_of(env))
            return self._together(files, home, variables, trail)
        except InvalidInput as error:
            self.mistakes += [include.mistake(str(mistake)) for mistake in error.mistakes]
            return None

    def _whole(
        self, service: Node, variables: Variables, trail: tuple[tuple[Path, str], ...]
    ) -> Node:
        """The service with what it extends."""
        extends = service.get("extends")
        if not extends:
            return service
        name = extends.text or extends.text_of("service")
        other = extends.text_of("file")
        file = service.folder / other if other else service.file
        home = file.parent if other else service.folder
        base = self._base(extends, file, home, variables, name)
        if base is None or (file, name) in trail:
            if base is not None:
                self.mistakes.append(extends.mistake(f"{name} extends itself"))
            return service
        return merged(self._whole(base, variables, (*trail, (file, name))), service)

    def _base(
        self, extends: Node, file: Path, home: Path, variables: Variables, name: str
    ) -> Node | None:
        try:
            found = self._tree(file, home, variables).get("services", name)
        except InvalidInput as error:
            self.mistakes += [extends.mistake(str(mistake)) for mistake in error.mistakes]
            return None
        if not found:
            self.mistakes.append(extends.mistake(f"there is no service {name} in {file}"))
        return found or None

    def _tree(self, file: Path, home: Path, variables: Variables) -> Node:
        if (file, home) not in self._read:
            self._read[file, home] = normal(read_tree(file, text_of(file), variables, home))
        return self._read[file, home]


# ---- How a later compose file, or a service that extends another, changes what is there

_AS_PAIRS = ("environment", "depends_on", "labels", "sysctls")
_AS_LISTS = ("env_file", "tmpfs", "profiles")
_REPLACED = frozenset({"command", "entrypoint", "test"})
"""Lists that are taken whole, and not joined."""


def normal(root: Node) -> Node:
    """A file with one form where Compose takes several, so that it can be merged."""
    if not root.items():
        return root
    found = dict(root.items())
    if services := root.get("services"):
        each = {name: _service(node) for name, node in services.items().items()}
        found["services"] = replace(services, value=each)
    if include := root.get("include"):
        found["include"] = replace(include, value=include.each())
    return replace(root, value=found)


def _service(service: Node) -> Node:
    found = dict(service.items())
    for key in _AS_PAIRS:
        if key in found:
            found[key] = replace(found[key], value=found[key].pairs())
    for key in _AS_LISTS:
        if key in found:
            node = found[key]
            found[key] = replace(node, value=[node] if node.items() else node.each())
    build = service.get("build")
    if build.text:
        found["build"] = replace(build, value={"context": build}, used=())
    return replace(service, value=found)


def merged(base: Node, over: Node, key: str = "") -> Node:
    """Both as one: mappings and lists are joined, and of all else the later one counts."""
    match base.value, over.value:
        case _ if over.replaces:
            return over
        case dict(theirs), dict(ours):
            both = {
                name: merged(theirs[name], ours[name], name)
                for name in ours
                if name in theirs and name != "extends"
            }
            return replace(over, value={**theirs, **ours, **both})
        case list(theirs), list(ours) if key not in _REPLACED:
            return replace(over, value=_joined(theirs, ours, key))
        case _:
            return over


def _joined(theirs: Sequence[Node], ours: Sequence[Node], key: str) -> list[Node]:
    """Both lists. Of two elements for one place in the container, the later one counts."""
    each = [*theirs, *ours]
    by_place = {_place(node, key) or number: node for number, node in enumerate(each)}
    return list(by_place.values())


def _place(node: Node, key: str) -> str:
    """The path or the name that is there once; empty if there is none."""
    match key:
        case "volumes":
            first, _, rest = node.text.partition(":")
            return rest.partition(":")[0] or first or node.text_of("target")
        case "ports":
            return node.text  # one port of a container may have several of the host
        case "tmpfs":
            return node.text.partition(":")[0]
        case _:
            named = [node.text_of(each) for each in ("target", "source", "path")]
            return node.text or next(filter(None, named), "")
