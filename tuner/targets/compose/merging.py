"""How a later compose file, or a service that extends another, changes what is there."""

from collections.abc import Sequence
from dataclasses import replace

from tuner.targets.compose.document import Node

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
