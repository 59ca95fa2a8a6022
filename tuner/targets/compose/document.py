"""A compose file as a tree in which each value knows its line: merge keys, variables, `extends`."""

import io
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import yaml
from dotenv import dotenv_values

from tuner.nouns.errors import InvalidInput, Mistake

# ---- Variables in a text, as Compose puts their values in: `${A}`, `${A:-x}`, `${A:?why}`, `$$`

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-?+]")


class Source(StrEnum):
    """Where the value of a variable comes from."""

    SHELL = "shell"
    DOTENV = "dotenv"
    MISSING = "missing"  # nothing has it: Compose puts an empty text
    REQUIRED = "required"  # nothing has it, and `?` forbids that


@dataclass(frozen=True, slots=True)
class Use:
    """A variable that a text uses. Of a required one, `value` says why it is."""

    name: str
    source: Source
    value: str = ""


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables of the shell, and those of `.env` after them."""

    shell: Mapping[str, str] = field(default_factory=dict)
    dotenv: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Use:
        """The variable, wherever it is."""
        for source, known in ((Source.SHELL, self.shell), (Source.DOTENV, self.dotenv)):
            if name in known:
                return Use(name, source, known[name])
        return Use(name, Source.MISSING)

    def with_dotenv(self, text: str) -> "Variables":
        """The same with the variables of a `.env`."""
        return Variables(self.shell, {k: v.text for k, v in self.env_file(text).items() if v})

    def env_file(self, text: str) -> "dict[str, Interpolated | None]":
        """The variables of an env file; None for a name without a value."""
        found: dict[str, Interpolated | None] = {}
        for name, value in dotenv_values(stream=io.StringIO(text), interpolate=False).items():
            known = {k: v.text for k, v in found.items() if v}
            here = Variables(self.shell, {**self.dotenv, **known})
            literal = rf"^\s*(?:export\s+)?{re.escape(name)}\s*=\s*'"
            if value is not None and re.search(literal, text, re.MULTILINE):
                found[name] = Interpolated(value)
            else:
                found[name] = None if value is None else here.interpolated(value)
        return found

    def interpolated(self, text: str) -> "Interpolated":
        """The text with all values in it."""
        if "$" not in text:
            return Interpolated(text)
        scanner = _Scanner(text, self)
        found = scanner.scan()
        return Interpolated(found, tuple(scanner.used))


@dataclass(frozen=True, slots=True)
class Interpolated:
    """A text with its values, and which variables gave them."""

    text: str
    used: tuple[Use, ...] = ()


@dataclass(slots=True)
class _Scanner:
    text: str
    variables: Variables
    at: int = 0
    used: list[Use] = field(default_factory=list)

    def scan(self, *, inside: bool = False) -> str:
        """Up to the end, or up to the brace that ends a default."""
        found: list[str] = []
        while self.at < len(self.text) and not (inside and self.text[self.at] == "}"):
            sign = self.text[self.at]
            self.at += 1
            found.append(self._variable() if sign == "$" else sign)
        return "".join(found)

    def _variable(self) -> str:
        if self.text.startswith("$", self.at):
            self.at += 1
            return "$"
        braced = self.text.startswith("{", self.at)
        name = _NAME.match(self.text, self.at + braced)
        if name is None:
            return "$"  # of a shell, such as $(date)
        self.at = name.end()
        use = self.variables.find(name[0])
        if not braced:
            return self._used(use)
        operator = _OPERATOR.match(self.text, self.at)
        self.at = operator.end() if operator else self.at
        outer, self.used = self.used, []
        other = self.scan(inside=True)
        of_other, self.used = self.used, outer
        self.at += 1  # the brace
        is_set = use.source is not Source.MISSING
        sign = operator[0] if operator else ""
        if sign.startswith(":"):
            is_set = is_set and bool(use.value)
        match sign[-1:]:
            case "+" | "-" if is_set is (sign[-1:] == "+"):
                self.used += of_other
                return other
            case "+":
                return ""
            case "?" if not is_set:
                return self._used(Use(use.name, Source.REQUIRED, other))
            case _:
                return self._used(use)

    def _used(self, use: Use) -> str:
        self.used.append(use)
        return "" if use.source is Source.REQUIRED else use.value


_REPLACED = frozenset({"command", "entrypoint", "test"})
"""Lists that one service has instead of those of the service that it extends."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a compose file. Numbers and booleans are texts, as they are written."""

    value: "str | dict[str, Node] | list[Node] | None"
    file: Path
    line: int  # of its key, from 1
    path: str  # such as services.web.image
    used: tuple[Use, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is something: not null."""
        return self.value is not None

    def get(self, *keys: str) -> "Node":
        """What is there, by its keys one after another; a null for nothing."""
        found = self
        for key in keys:
            path = f"{found.path}.{key}"
            found = found.items().get(key) or Node(None, found.file, found.line, path)
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

    def mistake(self, message: str) -> Mistake:
        """The line and what is wrong in it."""
        return Mistake(f"{self.file}:{self.line}", f"{self.path}: {message}")


@dataclass(slots=True)
class ComposeFile:
    """A compose file, and those that it extends."""

    file: Path
    variables: Variables
    mistakes: list[Mistake] = field(default_factory=list)
    _read: dict[Path, Node] = field(default_factory=dict)

    @property
    def root(self) -> Node:
        """The whole file. Raises `InvalidInput` if it cannot be read."""
        return self._tree(self.file)

    def give(self, root: Node) -> None:
        """Take this tree for the file."""
        self._read[self.file] = root

    @property
    def project(self) -> str:
        """The name that Compose gives to what it makes."""
        own = self.variables.find("COMPOSE_PROJECT_NAME").value
        name = own or self.root.text_of("name") or self.file.resolve().parent.name
        return re.sub(r"[^a-z0-9_-]", "", name.lower())

    def services(self) -> dict[str, Node]:
        """All services, with what they extend, by name. Mistakes are collected."""
        services = self.root.get("services").items()
        return {name: self._whole(node, ()) for name, node in services.items()}

    def _whole(self, service: Node, trail: tuple[tuple[Path, str], ...]) -> Node:
        own = _normal(service)
        extends = own.get("extends")
        if not extends:
            return own
        name = extends.text or extends.text_of("service")
        other = extends.text_of("file")
        file = service.file.parent / other if other else service.file
        base = self._base(extends, file, name)
        if base is None or (file, name) in trail:
            if base is not None:
                self.mistakes.append(extends.mistake(f"{name} extends itself"))
            return own
        return _merged(self._whole(base, (*trail, (file, name))), own)

    def _base(self, extends: Node, file: Path, name: str) -> Node | None:
        try:
            found = self._tree(file).get("services", name)
        except InvalidInput as error:
            self.mistakes += [extends.mistake(str(mistake)) for mistake in error.mistakes]
            return None
        if not found:
            self.mistakes.append(extends.mistake(f"there is no service {name} in {file}"))
        return found or None

    def _tree(self, file: Path) -> Node:
        if file not in self._read:
            self._read[file] = read_tree(file, text_of(file), self.variables)
        return self._read[file]


_MERGE = "tag:yaml.org,2002:merge"
MOST_BYTES = 2_000_000
MOST_VALUES = 50_000
"""Of one file, with those that an alias repeats."""


def text_of(file: Path) -> str:
    """The text of a file. Raises `InvalidInput` with its path, also for one without an end."""
    try:
        with file.open("rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise InvalidInput.at(str(file), "is no plain file")
            content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InvalidInput.at(str(file), f"is larger than {MOST_BYTES // 1_000_000} MB")
        return content.decode()
    except OSError as error:
        raise InvalidInput.at(str(file), error.strerror or "cannot be read") from error
    except UnicodeDecodeError as error:
        raise InvalidInput.at(str(file), "is not UTF-8 text") from error


def read_tree(file: Path, text: str, variables: Variables) -> Node:
    """The tree of a YAML text. Raises `InvalidInput`."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        return _Converter(file, variables).node(root, 1, "")
    except yaml.YAMLError as error:
        raise InvalidInput.at(str(file), f"not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InvalidInput.at(str(file), "a value contains itself") from error
    finally:
        loader.dispose()


@dataclass(slots=True)
class _Converter:
    file: Path
    variables: Variables
    values: int = 0

    def node(self, given: yaml.Node | None, line: int, path: str) -> Node:
        self._count()
        match given:
            case yaml.MappingNode():
                return Node(dict(self._items(given, path)), self.file, line, path)
            case yaml.SequenceNode():
                each = [
                    self.node(item, item.start_mark.line + 1, f"{path}.{number}")
                    for number, item in enumerate(given.value)
                ]
                return Node(each, self.file, line, path)
            case yaml.ScalarNode() if not given.tag.endswith(":null"):
                found = self.variables.interpolated(given.value)
                return Node(found.text, self.file, line, path, found.used)
            case _:
                return Node(None, self.file, line, path)

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
        if self.values > MOST_VALUES:
            why = f"has more than {MOST_VALUES} values, with those that aliases repeat"
            raise InvalidInput.at(str(self.file), why)


def _normal(service: Node) -> Node:
    """With mappings where Compose also takes lists, so that services can be merged."""
    found = dict(service.items())
    for key in ("environment", "depends_on"):
        if key in found:
            found[key] = replace(found[key], value=found[key].pairs())
    return replace(service, value=found)


def _merged(base: Node, over: Node, key: str = "") -> Node:
    match base.value, over.value:
        case dict(theirs), dict(ours):
            both = {
                name: _merged(theirs[name], ours[name], name)
                for name in ours
                if name in theirs and name != "extends"
            }
            return replace(over, value={**theirs, **ours, **both})
        case list(theirs), list(ours) if key not in _REPLACED:
            return replace(over, value=[*theirs, *ours])
        case _:
            return over


def missing(node: Node) -> Iterator[Mistake]:
    """Each variable that a value in the node requires and that nothing has."""
    for each in node.walk():
        for use in each.used:
            if use.source is Source.REQUIRED:
                why = f" ({use.value})" if use.value else ""
                hint = f"give it a value in .env or in the shell{why}"
                yield each.mistake(f"{use.name} has no value: {hint}")
