"""Words of a shell with the values of their variables, and where each value is from."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tuner.targets.compose.interpolation import Source, Variables
from tuner.targets.compose.shell import Piece, Word

_VARIABLE = re.compile(
    r"\$(?:(?P<name>\w+)|\{(?P<braced>\w+)(?P<rest>[^{}]*(?:\{[^{}]*\})?[^{}]*)\})"
)
_ALL = frozenset({"$@", "$*", "${@}", "${*}"})
_ONE = re.compile(r"\$(?:([1-9])|\{([1-9])(?::?-([^}]*))?\})")
_ODD = re.compile(r"\$\(|`|\$\{#|\$\{\w+[^\w}:\-+?=]|\$\{\w+:[^\-+?=]|\$[#?$!]")
_SETS = re.compile(r"\$\{(\w+):?=([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Value:
    """A variable in a start, with the value that counts and where it is from."""

    written: str
    value: str
    source: str


@dataclass(slots=True)
class Scope:
    """The variables of a shell, where each is from, and the arguments of its script."""

    variables: dict[str, str]
    sources: dict[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    unsure: set[str] = field(default_factory=set)  # set to what only a run shows
    own: set[str] = field(default_factory=set)  # not exported

    def inner(self, arguments: Sequence[str]) -> "Scope":
        """That of a program that this shell starts."""
        return Scope({**self.variables}, {**self.sources}, arguments, {*self.unsure}, {*self.own})

    def set(self, name: str, value: str | None, source: str) -> None:
        """A new value; None is one that only a run shows."""
        self.unsure.discard(name)
        self.variables[name] = value or ""
        self.sources[name] = source
        if value is None:
            self.unsure.add(name)

    def text(self, word: Word) -> str | None:
        """The value of a word as a shell has it; None if only a run shows it."""
        found: list[str] = []
        for piece in word:
            if piece.quote == "'":
                found.append(piece.text)
                continue
            if _ODD.search(piece.text) or names_in(piece.text) & self.unsure:
                return None
            text = _SETS.sub(r"${\1:-\2}", self._with_arguments(piece.text))
            found.append(Variables(self.variables).interpolated(text).text)
        return "".join(found)

    def words(self, given: Sequence[Word]) -> list[str]:
        """The words of a command. A variable without a value stays as it is written."""
        found: list[str] = []
        for word in given:
            if is_all(word):
                found += self.arguments
            elif any(piece.quote for piece in word):
                found.append("".join(self._kept(piece) for piece in word))
            else:
                found += self._kept(word[0]).split() or []
        return found

    def values(self, given: Sequence[Word]) -> Iterator[Value]:
        """The variables in words, each with its value."""
        texts = (piece.text for word in given for piece in word if piece.quote != "'")
        for match in (match for text in texts for match in _VARIABLE.finditer(text)):
            name = match["name"] or match["braced"]
            value = self.text((Piece(match[0]),))
            if value is None or self._is_missing(match[0]):
                continue
            is_own = bool(self.variables.get(name)) and name not in self.unsure
            yield Value(match[0], value, self.sources.get(name, "") if is_own else "its default")

    def assign_defaults(self, word: Word, source: str) -> None:
        """`: ${A:=4}` sets A if nothing has."""
        for name, default in _SETS.findall("".join(piece.text for piece in word)):
            if not self.variables.get(name):
                self.set(name, default, source)

    def _kept(self, piece: Piece) -> str:
        if piece.quote == "'" or "$" not in piece.text:
            return piece.text
        text = self._with_arguments(piece.text)

        def replaced(match: re.Match[str]) -> str:
            value = self.text((Piece(match[0]),))
            return match[0] if value is None or self._is_missing(match[0]) else value

        return _VARIABLE.sub(replaced, text)

    def _is_missing(self, text: str) -> bool:
        used = Variables(self.variables).interpolated(_SETS.sub(r"${\1:-\2}", text)).used
        return any(use.source in (Source.MISSING, Source.REQUIRED) for use in used)

    def _with_arguments(self, text: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            place = int(match[1] or match[2]) - 1
            return self.arguments[place] if place < len(self.arguments) else match[3] or ""

        return _ONE.sub(replaced, text)


def names_in(text: str) -> set[str]:
    """The variables that a text has."""
    return {match["name"] or match["braced"] for match in _VARIABLE.finditer(text)}


def is_all(word: Word) -> bool:
    """Whether a word is all arguments of the script."""
    return "".join(piece.text for piece in word) in _ALL


def expanded(
    text: str, variables: Mapping[str, str], sources: Mapping[str, str]
) -> tuple[str, list[Value]]:
    """A text with the values of its variables, and these."""
    scope = Scope({**variables}, {**sources})
    word: Word = (Piece(text, '"'),)
    return "".join(scope.words([word])), list(scope.values([word]))
