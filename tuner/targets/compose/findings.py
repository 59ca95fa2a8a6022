"""What `init` has to say: mistakes, and notes on what a person has to do or to know."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tuner.nouns.errors import Mistake


class Kind(StrEnum):
    """What a note is for."""

    TODO = "to do"
    CHANGED = "changed"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class Note:
    """One thing of the compose file, such as `web.restart`, and a sentence about it."""

    kind: Kind
    what: str
    why: str


@dataclass(slots=True)
class Findings:
    """All mistakes and notes of one compose file."""

    mistakes: list[Mistake] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def todo(self, what: str, why: str) -> None:
        """A person has to do something before the first job."""
        self._add(Note(Kind.TODO, what, why))

    def changed(self, what: str, why: str) -> None:
        """An arm has something else than the compose file."""
        self._add(Note(Kind.CHANGED, what, why))

    def left_out(self, what: str, why: str) -> None:
        """An arm has nothing of it."""
        self._add(Note(Kind.LEFT_OUT, what, why))

    def _add(self, note: Note) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def lines(self) -> Iterator[str]:
        """The notes by kind; those with the same sentence are one line."""
        for kind in Kind:
            same: dict[str, list[str]] = {}
            for note in self.notes:
                if note.kind is kind:
                    same.setdefault(note.why, []).append(note.what)
            if same:
                yield f"{kind.value}:"
                yield from (f"  - {', '.join(what)}: {why}" for why, what in same.items())
