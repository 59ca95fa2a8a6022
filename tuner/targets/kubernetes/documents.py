"""What `helm template`, `kustomize build` and `kubectl get -o yaml` print, with its lines."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from tuner.nouns.errors import InvalidInput
from tuner.targets.compose.document import Converter, Node, decoded, text_of, told_as_mistakes
from tuner.targets.compose.interpolation import Interpolated, Variables

if TYPE_CHECKING:
    Loader = yaml.SafeLoader
else:
    Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C, it takes a tenth of the time

STDIN = Path("-")
MOST_BYTES = 20_000_000
MOST_VALUES = 200_000
"""Of all manifests together: about 200 MB of memory and 6 s."""

_MOST_DEPTH = 100

HELM = "give what `helm template RELEASE CHART -f VALUES` prints"
_KUSTOMIZE = "give what `kustomize build` prints"
_TEMPLATE = re.compile(r"\{\{-?\s*(?:\.(?:Values|Release|Chart)\b|include\s|template\s)")
_UNREAD = frozenset({"managedFields", "status"})
OLD = "kubectl.kubernetes.io/last-applied-configuration"
"""An old manifest as a text: it may have secrets that were taken out of the new one."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One object of the manifests, such as a ConfigMap; `node.line` to `node.end` are its lines."""

    node: Node

    @property
    def kind(self) -> str:
        """Such as Deployment."""
        return self.node.text_of("kind")

    @property
    def name(self) -> str:
        """Its name in its namespace."""
        return self.node.text_of("metadata", "name")

    @property
    def namespace(self) -> str:
        """Empty where the manifest has none: then it is that of the roll-out."""
        return self.node.text_of("metadata", "namespace")

    @property
    def title(self) -> str:
        """Such as `ConfigMap shop-uwsgi`."""
        return f"{self.kind} {self.name}"

    def label(self, name: str) -> str:
        """The value of a label or of an annotation; empty without one."""
        found = self.node.get("metadata", "labels").items().get(name)
        found = found or self.node.get("metadata", "annotations").items().get(name)
        return found.text if found else ""

    def is_in(self, namespace: str) -> bool:
        """Whether it can be in a namespace."""
        return self.namespace in ("", namespace) or not namespace


def read(files: Sequence[Path]) -> list[Resource]:
    """All objects of the files, in their order; `-` is the standard input."""
    return read_texts([(file, _text(file)) for file in files])


def read_texts(texts: Sequence[tuple[Path, str]]) -> list[Resource]:
    """All objects of these texts, each with the name of its file.

    Of two with the same kind, name and namespace the later one counts, as `kubectl apply` has it.
    Raises `InvalidInput` for anything but manifests.
    """
    found: dict[tuple[str, str, str], Resource] = {}
    left = MOST_VALUES
    for file, text in texts:
        converter = _converter(file, left)
        for root in _trees(file, text, converter):
            for each in _objects(root):
                found[each.kind, each.name, each.namespace] = each
        left -= converter.values
    if not found:
        told = "there is no object of Kubernetes in it"
        raise InvalidInput.at(", ".join(str(file) for file, _ in texts), told)
    return list(found.values())


class _AsWritten(Variables):
    """Kubernetes has no variables of a shell."""

    def interpolated(self, text: str) -> Interpolated:
        return Interpolated(text)


def _converter(file: Path, most: int) -> Converter:
    return Converter(file, _AsWritten(), most=most)


def _text(file: Path) -> str:
    if file == STDIN:
        return decoded(sys.stdin.buffer.read(MOST_BYTES + 1), file, MOST_BYTES)
    return text_of(file, MOST_BYTES)


def _trees(file: Path, text: str, converter: Converter) -> Iterator[Node]:
    """The documents of a text that are there, as they are written."""
    text = text.removeprefix("\ufeff")
    if found := _TEMPLATE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise InvalidInput.at(f"{file}:{line}", f"is a template of Helm: {HELM}")
    with told_as_mistakes(file):
        _count(file, text, converter.most)
        loader = Loader(text)
        try:
            while loader.check_node():
                root = loader.get_node()
                line = root.start_mark.line + 1 if root else 1
                tree = converter.node(_without(root), line, "")
                if tree:
                    yield tree
        finally:
            loader.dispose()


def _count(file: Path, text: str, most: int) -> None:
    """Raise `InvalidInput` for more values than fit into the memory, before they are there."""
    values = depth = 0
    for event in yaml.parse(text, Loader=Loader):
        values += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if values > 2 * most:  # keys are no values
            told = f"has more than {most} values: give the manifests of one app or namespace"
            raise InvalidInput.at(str(file), told)
        if depth > _MOST_DEPTH:
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise InvalidInput.at(f"{file}:{line}", f"has more than {_MOST_DEPTH} levels")


def _without(given: yaml.Node | None) -> yaml.Node | None:
    """The node without what the server wrote into it, in all objects of it."""
    if isinstance(given, yaml.MappingNode):
        kept = _read_of(given)
        for key, value in kept:
            if key.value == "metadata" and isinstance(value, yaml.MappingNode):
                _without_old(value)
            elif key.value == "items" and isinstance(value, yaml.SequenceNode):
                value.value = [_without(each) for each in value.value]
        given.value = kept
    return given


def _read_of(given: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
    return [(key, value) for key, value in given.value if str(key.value) not in _UNREAD]


def _without_old(metadata: yaml.MappingNode) -> None:
    metadata.value = _read_of(metadata)
    for key, value in metadata.value:
        if key.value == "annotations" and isinstance(value, yaml.MappingNode):
            value.value = [pair for pair in value.value if pair[0].value != OLD]


def _objects(root: Node) -> Iterator[Resource]:
    """The object of a document, or those of a List."""
    if told := _why_not(root):
        raise InvalidInput.at(f"{root.file}:{root.line}", told)
    if root.text_of("kind").endswith("List") and isinstance(root.get("items").value, list):
        for each in root.get("items").each():
            if each:
                yield from _objects(each)
    else:
        yield Resource(root)


def _why_not(root: Node) -> str | None:
    """What a document is that is no object of Kubernetes, and what to give instead."""
    keys = {*root.items()}
    if root.text_of("kind") == "Kustomization":
        return f"is a kustomization: {_KUSTOMIZE}"
    if {"kind", "apiVersion"} <= keys:
        return None
    if "services" in keys:
        return "is a compose file: give it with --compose"
    if {"apiVersion", "name", "version"} <= keys:
        return f"is the Chart.yaml of a chart: {HELM}"
    if keys & {"resources", "configMapGenerator", "patches", "namePrefix"} and "images" in keys:
        return f"is a kustomization: {_KUSTOMIZE}"
    if keys & {"configMapGenerator", "secretGenerator", "patches", "bases"}:
        return f"is a kustomization: {_KUSTOMIZE}"
    if keys:
        return f"has no `kind`, so it is no manifest; if it has the values of a chart, {HELM}"
    return "is no manifest: give what helm template, kustomize build or kubectl get -o yaml prints"
