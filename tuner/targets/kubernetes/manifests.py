"""The container that starts uwsgi, and where its options stand.

manifests = read_manifests([Path("rendered.yaml")])
container = chosen(manifests, Choice(deployment="shop-web"))
place = options_of(container, manifests)
place.file.source, place.file.key     # the ConfigMap and the key that an answer replaces
place.file.node.line, .end            # its lines in the manifest, from 1, both included
written_by(place.file.source)         # who else writes the ConfigMap: Helm, an operator
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from tuner.nouns.errors import InvalidInput
from tuner.targets.compose.document import Node
from tuner.targets.compose.starting import Entry, words_of
from tuner.targets.kubernetes.documents import read
from tuner.targets.kubernetes.objects import ENDING, Manifests, Workload
from tuner.targets.kubernetes.volumes import File, files_of
from tuner.uwsgi.command_line import arguments, is_file, words_for_uwsgi
from tuner.uwsgi.options import known


def read_manifests(files: Sequence[Path], namespace: str = "") -> Manifests:
    """The objects of the files; `-` is the standard input. Raises `InvalidInput`."""
    return Manifests(tuple(read(files)), namespace)


# ---- The container to tune


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user said of the container: names, or nothing.

    `entry` gives ENTRYPOINT and CMD of an image; None without the image, or Docker.
    """

    deployment: str | None = None
    container: str | None = None
    entry: Callable[[str], Entry | None] = lambda image: None


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a workload, and the words that start it."""

    workload: Workload
    node: Node
    words: tuple[str, ...]  # of ENTRYPOINT and CMD, as far as they are known

    @property
    def name(self) -> str:
        """Its name in the pod."""
        return self.node.text_of("name")

    @property
    def title(self) -> str:
        """Such as `shop-web/web`."""
        return f"{self.workload.name}/{self.name}"


class _Sign(StrEnum):
    """What tells that a container starts uwsgi, the best one first."""

    COMMAND = "command"
    INI = "ini"
    NAME = "name"
    VARIABLE = "variable"


_SURE = frozenset({_Sign.COMMAND, _Sign.INI})
_MOST_IMAGES = 20  # Docker is asked for each


def chosen(manifests: Manifests, choice: Choice) -> Container:
    """The container to tune: the only one with the best sign of uwsgi. Raises `InvalidInput`."""
    every = [
        Container(workload, node, tuple(start_words(node, None)))
        for workload in manifests.workloads()
        for node in workload.containers
    ]
    named = [
        each
        for each in every
        if choice.deployment in (None, each.workload.name) and choice.container in (None, each.name)
    ]
    found = named if len(named) == 1 else _with_uwsgi(named, manifests)
    if len(named) > 1 and not any(_SURE & _signs(each, manifests) for each in found):
        asked = [_with_image(each, choice.entry) for each in named[:_MOST_IMAGES]]
        found = _with_uwsgi([*asked, *named[_MOST_IMAGES:]], manifests)
    if len(found) == 1:
        return _with_image(found[0], choice.entry)
    option = "--deployment" if len({each.workload.name for each in found}) != 1 else "--container"
    missing = choice.deployment or choice.container
    which = f"no {missing}" if not named and missing else "no single container with uwsgi"
    names = ", ".join(each.title for each in found or named or every) or "none"
    raise InvalidInput.at(option, f"{which} in the manifests; there are: {names}")


def _with_image(container: Container, entry: Callable[[str], Entry | None]) -> Container:
    """The container with the words of its image too, where the manifest leaves them to it."""
    if container.node.get("command"):
        return container
    words = start_words(container.node, entry(container.node.text_of("image")))
    return replace(container, words=tuple(words))


def start_words(container: Node, entry: Entry | None) -> list[str]:
    """`command` is the ENTRYPOINT, and without `args` the CMD of the image does not count."""
    command, args, of_image = container.get("command"), container.get("args"), entry or {}
    if command:
        return [*words_of(command), *words_of(args)]
    cmd = words_of(args) if args else of_image.get("CMD", [])
    return [*of_image.get("ENTRYPOINT", []), *cmd]


def _with_uwsgi(containers: Sequence[Container], manifests: Manifests) -> list[Container]:
    """Those with the best sign; without any sign, the only container that no sidecar is."""
    signs = [(sign, each) for each in containers for sign in _signs(each, manifests)]
    for best in _Sign:
        found = [each for sign, each in signs if sign is best]
        lasting = [each for each in found if each.workload.resource.kind not in ENDING]
        if found:
            return lasting or found
    lasting = [each for each in containers if each.workload.resource.kind not in ENDING]
    return lasting if len(lasting) == 1 else list(containers)


def _signs(container: Container, manifests: Manifests) -> set[_Sign]:
    node, found = container.node, set[_Sign]()
    if words_for_uwsgi(container.words) is not None:
        found.add(_Sign.COMMAND)
    if _only_ini(files_of(container.workload, node, manifests)) is not None:
        found.add(_Sign.INI)
    if "uwsgi" in f"{container.name} {' '.join(container.words)}".lower():
        found.add(_Sign.NAME)
    if any("UWSGI" in name for name in _variables(container, manifests)):
        found.add(_Sign.VARIABLE)
    return found


def _variables(container: Container, manifests: Manifests) -> dict[str, Node]:
    """The variables with a text, by name: from ConfigMaps, and then the container's own."""
    found: dict[str, Node] = {}
    for each in container.node.get("envFrom").each():
        name = each.text_of("configMapRef", "name")
        source = manifests.find("ConfigMap", name, container.workload.namespace)
        if source is not None:
            found |= source.node.get("data").items()
    return found | {each.text_of("name"): each for each in container.node.get("env").each()}


# ---- Where its options stand


class Stands(StrEnum):
    """Where the options of uWSGI are written."""

    CONFIG_MAP = "config map"  # a key of a ConfigMap
    COMMAND = "command"  # `command` and `args`
    VARIABLES = "variables"  # of the container, for uWSGI itself or for a script that starts it
    IMAGE = "image"


@dataclass(frozen=True, slots=True)
class Options:
    """Where the options of uWSGI stand, and the lines: of a key, of the command, of variables."""

    stands: Stands
    nodes: tuple[Node, ...] = ()
    file: File | None = None  # of a ConfigMap
    path: str = ""  # of the file in the container, where it is known


def options_of(container: Container, manifests: Manifests) -> Options:
    """Where the options of a container's uWSGI stand."""
    files = files_of(container.workload, container.node, manifests)
    options = words_for_uwsgi(container.words)
    path = next(_config_files(options or []), "")
    found = _at(files, path) if path else None
    if found is None and options is None:
        found = _only_ini(files)
    if found is not None:
        return Options(Stands.CONFIG_MAP, (found.node,), found, found.path)
    if options is not None and not path:
        words = [container.node.get(key) for key in ("command", "args")]
        return Options(Stands.COMMAND, tuple(node for node in words if node))
    variables = _variables(container, manifests)
    own = tuple(node for name, node in variables.items() if "UWSGI" in name)
    return Options(Stands.VARIABLES if own else Stands.IMAGE, own, path=path)


def _config_files(options: Sequence[str]) -> Iterator[str]:
    for each in arguments(options, known()):
        word = each if isinstance(each, str) else each.value or ""
        if is_file(word):
            yield word


def _at(files: Sequence[File], path: str) -> File | None:
    """The file at a path; of a path that is not absolute, the only one that ends so."""
    if path.startswith("/"):
        return next((each for each in files if each.path == path), None)
    name = path.rpartition("/")[2]
    ends = [each for each in files if each.path.endswith(f"/{name}")]
    return ends[0] if len(ends) == 1 else None


_SECTION = re.compile(r"^\s*\[uwsgi\]", re.MULTILINE)


def _only_ini(files: Sequence[File]) -> File | None:
    """The only file for uWSGI that a container gets."""
    found = [each for each in files if _SECTION.search(each.node.text)]
    return found[0] if len(found) == 1 else None
