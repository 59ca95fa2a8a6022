"""Variables in a text, as Compose puts their values in: `${A}`, `${A:-x}`, `${A:?why}`, `$$`."""

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dotenv import dotenv_values

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-?+]")


class Source(StrEnum):
    """Where the value of a variable comes from."""

    SHELL = "shell"
    DOTENV = "dotenv"
    MISSING = "missing"  # nothing has it: Compose puts an empty text
    REQUIRED = "required"  # nothing has it, and `?` forbids that
    STORE = "store"  # a store of secrets has it: its value is never read


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
        """The same with the variables of a `.env`. `A=${A}`, which nothing has, is none."""
        found = {k: v for k, v in self.env_file(text).items() if v is not None}
        return Variables(self.shell, {k: v.text for k, v in found.items() if not v.is_missing})

    def before(self, text: str) -> "Variables":
        """The same, and after them the variables of another `.env`."""
        return Variables(self.shell, {**self.with_dotenv(text).dotenv, **self.dotenv})

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

    @property
    def is_missing(self) -> bool:
        """Whether it is empty because nothing has its variables."""
        return not self.text and any(use.source is Source.MISSING for use in self.used)


def raw_env_file(text: str) -> "dict[str, Interpolated | None]":
    """The variables of an env file with `format: raw`: all after the first `=` is the value."""
    found: dict[str, Interpolated | None] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if name.strip() and not name.lstrip().startswith("#"):
            found[name.strip()] = Interpolated(value) if equals else None
    return found


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
