"""Values of a compose file, made from those of a manifest: each keeps its line."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tuner.targets.compose.document import Node


def leaf(at: Node, text: str) -> Node:
    """A text that stands where `at` stands."""
    return replace(at, value=text, used=())


def listed(at: Node, each: Sequence[Node | str]) -> Node:
    """A list there."""
    return replace(at, value=[e if isinstance(e, Node) else leaf(at, e) for e in each], used=())


def mapped(at: Node, each: Mapping[str, Node | str]) -> Node:
    """A mapping there."""
    named = {name: e if isinstance(e, Node) else leaf(at, e) for name, e in each.items()}
    return replace(at, value=dict(named), used=())
