"""The object from which an operator makes others, and the field of it that sets an option."""

import re
from collections.abc import Iterator

from tuner.targets.compose.document import Node
from tuner.targets.kubernetes.documents import Resource
from tuner.targets.kubernetes.manifests import Container
from tuner.targets.kubernetes.objects import Manifests
from tuner.uwsgi.ini import canonical
from tuner.uwsgi.places import Change

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_WHOSE = frozenset({"uwsgi"})


def owner_of(by: str, container: Container, manifests: Manifests) -> Resource | None:
    """The object such as `Shop prod`; None if the manifests do not have it."""
    kind, _, name = by.partition(" ")
    return manifests.find(kind, name, container.workload.namespace) if name else None


def field_of(change: Change, owner: Resource) -> str | None:
    """The only field with the words of the option; of several words the present value too.

    `uwsgi_processes` is for `processes`. `uwsgi_listen_queue_size` is for `listen` if it has the
    value that the file has.
    """
    wanted = {*_words(canonical(change.option))}
    exact, near = list[str](), list[str]()
    for path, node in _fields(owner.node.get("spec"), ""):
        words = {*_words(path.rpartition(".")[2])} - _WHOSE
        if _meant(words) == wanted:
            exact.append(path)
        elif wanted < words and node.text == change.was:
            near.append(path)
    found = exact or near
    return found[0] if len(found) == 1 else None


def _meant(words: set[str]) -> set[str]:
    return {canonical(word) for word in words}


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(text)]


def _fields(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    """All fields with a value, each with its path."""
    for key, value in node.items().items():
        inner = f"{path}.{key}" if path else key
        if value.items():
            yield from _fields(value, inner)
        else:
            yield inner, value
