"""What `init` has to say: mistakes, and notes on what a person has to do or to know."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from tuner.nouns.errors import Mistake


class Kind(StrEnum):
    """What a note is for."""

    TODO = "to do"
    CHANGED = "changed"
    LEFT_OUT = "left out"


class Weight(IntEnum):
    """What depends on a note: the notes of each kind are in this order."""

    START = 0  # without it the app may not start
    FIGURES = 1  # it changes what is measured
    REST = 2


@dataclass(frozen=True, slots=True)
class Note:
    """One thing of the compose file, such as `web.restart`, and a sentence about it."""

    kind: Kind
    what: str
    why: str
    weight: Weight = Weight.REST


@dataclass(slots=True)
class Findings:
    """All mistakes and notes of one compose file."""

    mistakes: list[Mistake] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def todo(self, what: str, why: str, weight: Weight = Weight.START) -> None:
        """A person has to do something before the first job."""
        self._add(Note(Kind.TODO, what, why, weight))

    def changed(self, what: str, why: str, weight: Weight = Weight.REST) -> None:
        """An arm has something else than the compose file."""
        self._add(Note(Kind.CHANGED, what, why, weight))

    def left_out(self, what: str, why: str) -> None:
        """An arm has nothing of it."""
        self._add(Note(Kind.LEFT_OUT, what, why))

    def add(self, others: "Findings") -> None:
        """Add those of another part."""
        self.mistakes += others.mistakes
        for note in others.notes:
            self._add(note)

    def _add(self, note: Note) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def lines(self) -> Iterator[str]:
        """The notes in order, for a file; those with the same sentence are one line."""
        for heading, told in self._told():
            yield heading
            yield from (f"  - {', '.join(what)}: {why}" for what, why in told)

    def on_terminal(self) -> Iterator[str]:
        """The same in lines of at most `WIDTH` characters, with the first names of a long list."""
        for heading, told in self._told():
            yield heading
            for what, why in told:
                text = f"{_first_of(what)}: {why}"
                yield from textwrap.wrap(
                    text,
                    WIDTH,
                    initial_indent="  - ",
                    subsequent_indent="    ",
                    break_on_hyphens=False,
                )

    def _told(self) -> Iterator[tuple[str, list[tuple[list[str], str]]]]:
        for kind in Kind:
            same: dict[str, list[str]] = {}
            for note in sorted(self.notes, key=lambda note: note.weight):
                if note.kind is kind:
                    same.setdefault(note.why, []).append(note.what)
            if same:
                yield f"{kind.value}:", [(what, why) for why, what in same.items()]


WIDTH = 120
_MOST_OF_NAMES = 80  # characters


def _first_of(names: Sequence[str]) -> str:
    """The names, or those that fit and how many others there are."""
    whole = ", ".join(names)
    if len(whole) <= _MOST_OF_NAMES:
        return whole
    fit = 1
    while len(", ".join(names[: fit + 1])) <= _MOST_OF_NAMES:
        fit += 1
    left = len(names) - fit
    return f"{', '.join(names[:fit])} and {left} more (see target.yaml)" if left else names[0]
