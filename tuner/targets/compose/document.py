"""A compose file as a tree in which each value knows its line, with merge keys and variables."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.targets.compose.interpolation import Source, Use, Variables


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a compose file. Numbers and booleans are texts, as they are written."""

    value: "str | dict[str, Node] | list[Node] | None"
    file: Path
    line: int  # of its key, from 1
    path: str  # such as services.web.image
    used: tuple[Use, ...] = ()
    replaces: bool = False  # `!reset` and `!override`: nothing of an earlier file is left
    home: Path | None = None
    end: int = 0  # the last line of the value, where it was read from a file

    @property
    def folder(self) -> Path:
        """The folder that its paths start from: that of the project, or of the file."""
        return self.home if self.home is not None else self.file.parent

    def __bool__(self) -> bool:
        """Whether there is something: not null."""
        return self.value is not None

    def get(self, *keys: str) -> "Node":
        """What is there, by its keys one after another; a null for nothing."""
        found = self
        for key in keys:
            inner = found.items().get(key)
            path = f"{found.path}.{key}"
            found = inner or replace(found, value=None, path=path, used=(), replaces=False)
        return found

    def items(self) -> "Mapping[str, Node]":
        """The values of a mapping by their keys."""
        return self.value if isinstance(self.value, dict) else {}

    def each(self) -> "list[Node]":
        """The elements of a list; a text alone is one."""
        if isinstance(self.value, str):
            return [self]
        return self.value if isinstance(self.value, list) else []

    @property
    def text(self) -> str:
        """The text of a scalar."""
        return self.value if isinstance(self.value, str) else ""

    def text_of(self, *keys: str) -> str:
        """The text that is there; empty for nothing."""
        return self.get(*keys).text

    def pairs(self) -> "dict[str, Node]":
        """`{A: 1}`, `[A=1]` and `[A]` by their names."""
        if isinstance(self.value, dict):
            return self.value
        found = {}
        for node in self.each():
            name, equals, text = node.text.partition("=")
            path = f"{self.path}.{name}"
            found[name] = replace(node, value=text if equals else None, path=path)
        return found

    def walk(self) -> "Iterator[Node]":
        """This value and all values in it."""
        yield self
        inner = self.value if isinstance(self.value, list) else self.items().values()
        for node in inner:
            yield from node.walk()

    def host_path(self, text: str) -> Path:
        """A path of the host, as Compose reads it. Raises `InvalidInput` for what is no path."""
        try:
            found = self.folder / Path(text).expanduser()
        except RuntimeError:
            raise InvalidInput([self.mistake(f"{text!r}: this host has no such user")]) from None
        if not is_path(str(found)):
            raise InvalidInput([self.mistake(f"{text[:40]!r} is no path")])
        return found

    def mistake(self, message: str) -> Mistake:
        """The line and what is wrong in it."""
        return Mistake(f"{self.file}:{self.line}", f"{self.path}: {message}")


def is_path(path: str) -> bool:
    """Whether Linux can have a file there: neither the path nor a name is too long, or has NUL."""
    is_short = len(path) < 4096 and all(len(name) <= 255 for name in path.split("/"))
    return is_short and "\0" not in path


_MERGE = "tag:yaml.org,2002:merge"
_RESET, _OVERRIDE = "!reset", "!override"
MOST_BYTES = 2_000_000
MOST_VALUES = 50_000
"""Of one file, with those that an alias repeats."""


def text_of(file: Path, most: int = MOST_BYTES) -> str:
    """The text of a file. Raises `InvalidInput` with its path, also for one without an end."""
    try:
        with file.open("rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise InvalidInput.at(str(file), "is no plain file")
            content = opened.read(most + 1)
        return decoded(content, file, most)
    except OSError as error:
        raise InvalidInput.at(str(file), error.strerror or "cannot be read") from error


def decoded(content: bytes, file: Path, most: int) -> str:
    """The text of at most `most` bytes. Raises `InvalidInput`."""
    if len(content) > most:
        raise InvalidInput.at(str(file), f"is larger than {most // 1_000_000} MB")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput.at(str(file), "is not UTF-8 text") from error


def read_tree(file: Path, text: str, variables: Variables, home: Path | None = None) -> Node:
    """The tree of a YAML text. Its paths start from `home`. Raises `InvalidInput`."""
    with told_as_mistakes(file):
        return Converter(file, variables, home).node(yaml.compose(text, yaml.SafeLoader), 1, "")


@contextmanager
def told_as_mistakes(file: Path) -> Iterator[None]:
    """Raises `InvalidInput` for what is wrong with the YAML of a file."""
    try:
        yield
    except yaml.YAMLError as error:
        raise InvalidInput.at(str(file), f"not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InvalidInput.at(str(file), "a value contains itself") from error


@dataclass(slots=True)
class Converter:
    """Makes nodes of at most `most` values, with those that aliases repeat."""

    file: Path
    variables: Variables
    home: Path | None = None
    most: int = MOST_VALUES
    values: int = 0

    def node(self, given: yaml.Node | None, line: int, path: str) -> Node:
        """The value. Raises `InvalidInput` for too many, and `yaml.YAMLError`."""
        self._count()
        replaces = given is not None and given.tag in (_RESET, _OVERRIDE)
        empty = Node(None, self.file, line, path, (), replaces, self.home, _last_line(given))
        match given:
            case yaml.Node() if given.tag == _RESET:
                return empty
            case yaml.MappingNode():
                return replace(empty, value=dict(self._items(given, path)))
            case yaml.SequenceNode():
                each = [
                    self.node(item, item.start_mark.line + 1, f"{path}.{number}")
                    for number, item in enumerate(given.value)
                ]
                return replace(empty, value=each)
            case yaml.ScalarNode() if not given.tag.endswith(":null"):
                found = self.variables.interpolated(given.value)
                return replace(empty, value=found.text, used=found.used)
            case _:
                return empty

    def _items(self, given: yaml.MappingNode, path: str) -> Iterator[tuple[str, Node]]:
        """The values under merge keys first: later ones of a name replace them."""
        merges = (value for key, value in given.value if key.tag == _MERGE)
        for merged in merges:
            each = merged.value if isinstance(merged, yaml.SequenceNode) else [merged]
            for mapping in reversed(each):
                if not isinstance(mapping, yaml.MappingNode):
                    raise yaml.YAMLError(f"line {mapping.start_mark.line + 1}: << takes mappings")
                self._count()  # merges of empty mappings repeat as fast as values do
                yield from self._items(mapping, path)
        for key, value in given.value:
            if key.tag == _MERGE:
                continue
            name, line = str(key.value), key.start_mark.line + 1
            yield name, self.node(value, line, f"{path}.{name}" if path else name)

    def _count(self) -> None:
        self.values += 1
        if self.values > self.most:
            why = f"has more than {self.most} values, with those that aliases repeat"
            raise InvalidInput.at(str(self.file), why)


def _last_line(given: yaml.Node | None) -> int:
    if given is None:
        return 0
    end = given.end_mark
    return int(end.line + 1 if end.column else end.line)


_EXAMPLE = re.compile(r"(?:.*[._-])?(?:example|sample|template|dist)(?:[._-].*)?", re.IGNORECASE)


def example_of(file: Path) -> str:
    """What to copy to an env file that is not there, as the end of a sentence; or nothing."""
    if file.exists() or not file.parent.is_dir():
        return ""
    near = sorted(each.name for each in file.parent.glob("*env*") if _EXAMPLE.fullmatch(each.name))
    best = [name for name in near if file.name.strip(".") in name] or near
    return f"; {best[0]} has examples: copy it to {file.name}" if best else ""


def missing(node: Node) -> Iterator[Mistake]:
    """Each variable that a value in the node requires and that nothing has."""
    for each in node.walk():
        for use in each.used:
            if use.source is Source.REQUIRED:
                why = f" ({use.value})" if use.value else ""
                yield each.mistake(f"{use.name} has no value: {how_to_give(each)}{why}")


def how_to_give(node: Node) -> str:
    """What to do for a variable that nothing has."""
    return f"give it a value in .env or in the shell{example_of(node.folder / '.env')}"
