"""One text of a manifest replaced by another: all else of the file stays as it is written."""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tuner.nouns.errors import InvalidInput
from tuner.targets.kubernetes.documents import OLD, Loader
from tuner.targets.kubernetes.volumes import File
from tuner.targets.yaml_text import yaml_text

_BLOCK = re.compile(r"[|>]([1-9]?)[-+]?([1-9]?)([^\r\n]*)\r?\n")
_MARK = "\ufeff"  # of the order of bytes: no character of the text
_OF_THE_SERVER = frozenset(
    {
        *("managedFields", "uid", "resourceVersion", "creationTimestamp", "generation"),
        *("selfLink", "ownerReferences"),
    }
)
"""What no one may apply again, in `metadata`."""


@dataclass(frozen=True, slots=True)
class ConfigMapKey:
    """A key of a ConfigMap, by names; the namespace is empty where the manifest has none."""

    name: str
    namespace: str
    key: str

    @classmethod
    def of(cls, file: File) -> "ConfigMapKey":
        """The key that gives a container its file."""
        return cls(file.source.name, file.source.namespace, file.key)

    def __str__(self) -> str:
        return f"ConfigMap {self.name}, key {self.key}"


def with_text(manifest: str, place: ConfigMapKey, new: str) -> str:
    """The manifest with another text under the key. Raises `InvalidInput`."""
    if manifest.startswith(_MARK):
        return f"{_MARK}{with_text(manifest.removeprefix(_MARK), place, new)}"
    roots = _roots(manifest)
    _, value = _found(roots, place)
    start, end = value.start_mark.index, value.end_mark.index
    old = manifest[start:end]
    wanted = _plain(roots, value, new)
    for text in () if old.startswith("&") else _writings(old, value, new):
        changed = f"{manifest[:start]}{text}{manifest[end:]}"
        if _reads_as(changed, wanted):
            return changed
    line = value.start_mark.line + 1
    raise InvalidInput.at(str(place), f"cannot be changed in line {line}: change it by hand")


def _reads_as(manifest: str, wanted: list[Any]) -> bool:
    try:
        roots = _roots(manifest)
    except yaml.YAMLError:
        return False
    return _plain(roots, yaml.Node("", None, None, None), "") == wanted


def _writings(old: str, value: yaml.ScalarNode, new: str) -> Iterator[str]:
    """The text as a block like the old one, if there is one; else in quotes."""
    block = _as_block(old, value, new)
    if block is not None:
        yield block
    ending = re.search(r"(?:\r?\n)?\Z", old) if value.style in ("|", ">") else None
    yield json.dumps(new, ensure_ascii=False) + (ending[0] if ending else "")


def config_map(manifest: str, place: ConfigMapKey) -> str:
    """The document of the ConfigMap as it is written, or without what the server put into it."""
    manifest = manifest.removeprefix(_MARK)
    root, _ = _found(_roots(manifest), place)
    start = root.start_mark
    text = " " * start.column + manifest[start.index : _end(root)]
    text = textwrap.dedent(text) if start.column else text
    document: dict[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - only texts
    metadata = document["metadata"]
    annotations = metadata.get("annotations") or {}
    if _OF_THE_SERVER & {*metadata} or OLD in annotations:
        own = {name: value for name, value in annotations.items() if name != OLD}
        kept = {name: value for name, value in metadata.items() if name not in _OF_THE_SERVER}
        metadata = {**kept, "annotations": own} if own else _without(kept, "annotations")
        return yaml_text({**_without(document, "status"), "metadata": metadata})
    return text if text.endswith("\n") else f"{text}\n"


def _without(given: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != name}


def _as_block(old: str, value: yaml.ScalarNode, new: str) -> str | None:
    """The text as a literal block with the indent of the old one; None where no block can be."""
    head = _BLOCK.match(old)
    lines = re.split(r"\r?\n", old[head.end() :]) if head else []
    first = next((line for line in lines if line.strip(" ")), None)
    if head is None or first is None or not value.value.strip("\n"):
        return None
    before, after, comment = head.groups()
    in_value = next(line for line in value.value.split("\n") if line)
    depth = _blanks(first) - (_blanks(in_value) if value.style == "|" else 0)
    left = len(new) - len(new.rstrip("\n"))
    chomping = "-" if left == 0 else "" if left == 1 else "+"
    below = [f"{' ' * depth}{line}" if line else "" for line in new.removesuffix("\n").split("\n")]
    blank = [] if left > 1 else [""] * _blank_at_end(lines)
    ending = "\r\n" if "\r\n" in old else "\n"
    ends = ending if old.endswith("\n") or left else ""
    opening = f"|{before or after}{chomping}{comment}"
    return ending.join([opening, *below, *blank]) + ends


def _blanks(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _blank_at_end(lines: list[str]) -> int:
    """Empty lines below the text; the last one is what follows the last line's end."""
    count = 0
    while count < len(lines) - 1 and not lines[-2 - count].strip(" "):
        count += 1
    return count


def _end(node: yaml.Node) -> int:
    """Where the last value of a node ends, without the comments below it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _roots(manifest: str) -> list[yaml.Node | None]:
    return list(yaml.compose_all(manifest, Loader=Loader))


def _found(
    roots: Iterable[yaml.Node | None], place: ConfigMapKey
) -> tuple[yaml.Node, yaml.ScalarNode]:
    """The ConfigMap, and the text under its key. The last one of a name counts."""
    found: tuple[yaml.Node, yaml.ScalarNode] | None = None
    for root in roots:
        for each in _objects(root):
            value = _at(each, "data", place.key)
            if _is_it(each, place) and isinstance(value, yaml.ScalarNode):
                found = (each, value)
    if found is None:
        raise InvalidInput.at(str(place), "is not in the manifest")
    return found


def _objects(root: yaml.Node | None) -> Iterator[yaml.Node]:
    items = _at(root, "items")
    if isinstance(items, yaml.SequenceNode):
        for each in items.value:
            yield from _objects(each)
    elif root is not None:
        yield root


def _is_it(root: yaml.Node, place: ConfigMapKey) -> bool:
    return (
        _text(root, "kind") == "ConfigMap"
        and _text(root, "metadata", "name") == place.name
        and _text(root, "metadata", "namespace") == place.namespace
    )


def _text(node: yaml.Node | None, *keys: str) -> str:
    found = _at(node, *keys)
    return str(found.value) if isinstance(found, yaml.ScalarNode) else ""


def _at(node: yaml.Node | None, *keys: str) -> yaml.Node | None:
    for key in keys:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        node = next((value for name, value in reversed(pairs) if name.value == key), None)
    return node


def _plain(roots: Iterable[yaml.Node | None], value: yaml.Node, new: str) -> list[Any]:
    """All documents as lists and texts, with `new` instead of that value."""
    return [_read(root, value, new) for root in roots]


def _read(node: yaml.Node | None, value: yaml.Node, new: str) -> Any:
    match node:
        case yaml.MappingNode():
            pairs = ((_read(k, value, new), _read(v, value, new)) for k, v in node.value)
            return [node.tag, *pairs]
        case yaml.SequenceNode():
            return [_read(each, value, new) for each in node.value]
        case yaml.ScalarNode():
            return new if node is value else node.value
        case _:
            return None
