"""The one interpreter of includes and blocks: the order in which uWSGI reads lines.

Blocks do not nest: `if-` and `for` set one global state, any `end` clears it, section headers do
not, and an included section may leave it set. Inside an include that a block encloses, no `end`
counts. (uWSGI 2.0.31: core/config.c)

`walk` knows nothing but the lines of one file, so each block may count or not. `effective` builds
on the same interpreter and decides blocks, and reads other files, as far as it can.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tuner.uwsgi.ini.lines import CLOSES, INCLUDES, OPENS, SECTION, Line

_MOST_DEPTH = 32
_MOST_EXTRA = 20_000  # beyond one for each line: includes of includes may double each time
_LINE_CHARS = 64  # a longer line costs as much as several


class Obstacle(StrEnum):
    """Why uWSGI does not read a file as its author means it."""

    UNCLOSED = "unclosed-block"
    STRAY_END = "stray-end"
    NESTED = "nested-block"
    UNKNOWN_SECTION = "unknown-section"
    CYCLE = "include-cycle"
    TOO_DEEP = "include-depth"


@dataclass(frozen=True, slots=True)
class Place:
    """A section of a file that is being read.

    `source` names the file, empty for the first one; `path` is where it is, if known. `within` are
    the sources and sections that include it. `is_enclosed` when a block contains the include.
    """

    lines: Sequence[Line]
    source: str = ""
    path: str | None = None
    section: str = SECTION
    within: tuple[tuple[str, str], ...] = ()
    is_enclosed: bool = False
    is_conditional: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One line at its turn, with its key and value as far as they are known."""

    place: Place
    index: int
    key: str
    value: str
    is_enclosed: bool
    is_conditional: bool


class Interpreter:
    """Goes through lines as uWSGI does. Subclasses record turns and know more about the world."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._sections: dict[str, dict[str | None, list[tuple[int, Line]]]] = {}
        self._room = sum(_cost(line.raw) for line in lines) + _MOST_EXTRA
        self._turns = 0
        self._obstacles: dict[tuple[int, Obstacle], None] = {}
        self._block: Turn | None = None
        self._last: Place | None = None  # `ini = :section` is of this file; None for an unread one
        self._end: int | None = None
        self._done = 0

    def enter(self, place: Place) -> None:
        """Read a section."""
        self._last = place
        for index, line in self._lines_of(place).get(place.section, ()):
            if not self._has_room(index, _cost(line.raw)):
                return
            key, value = self._texts(place, line)
            self._visit(Turn(place, index, key, value, place.is_enclosed, place.is_conditional))
            if not place.within and self._block is None:
                self._end, self._done = index, self._turns

    def _texts(self, place: Place, line: Line) -> tuple[str, str]:
        return line.key or "", line.value

    def _rounds(self, opener: str, argument: str) -> Iterator[tuple[str | None, bool]]:
        """For each time that a block's line counts: what `%(_)` is, and whether that is sure."""
        yield (None, False)

    def _file(self, name: str) -> Sequence[Line] | None:
        """The lines of another file; None when they are unknown."""
        return None

    def _see(self, turn: Turn, target: Place | None) -> None:
        """Record a turn; `target` is the section that an include means, None when it is unread."""

    def _lines_of(self, place: Place) -> dict[str | None, list[tuple[int, Line]]]:
        """The lines with a key of each section, by index; each file is sorted once."""
        if place.source not in self._sections:
            sections = self._sections.setdefault(place.source, {})
            for index, line in enumerate(place.lines):
                found = sections.setdefault(line.section, [])
                if line.key is not None:
                    found.append((index, line))
        return self._sections[place.source]

    def _has_room(self, index: int, cost: int) -> bool:
        if self._room < cost:
            self._room = 0
            self._obstacles[index, Obstacle.TOO_DEEP] = None
            return False
        self._room -= cost
        return True

    def _visit(self, turn: Turn) -> None:
        if turn.key in CLOSES and not turn.is_enclosed:
            if self._block is None:
                self._obstacles[turn.index, Obstacle.STRAY_END] = None
            self._block = None
        if turn.is_enclosed or self._block is None:
            self._apply(turn)
            return
        rounds = self._rounds(self._block.key, self._block.value)
        for number, (stands_for, is_sure) in enumerate(rounds):
            word = stands_for or ""
            longer = turn.value.count("%(_)") * len(word)
            if not self._has_room(turn.index, _cost(turn.value, longer) if number or longer else 0):
                return
            value = turn.value if stands_for is None else turn.value.replace("%(_)", word)
            self._apply(replace(turn, value=value, is_enclosed=True, is_conditional=not is_sure))

    def _apply(self, turn: Turn) -> None:
        self._turns += 1
        is_include = turn.key in INCLUDES
        target = self._target(turn) if is_include else None
        self._see(turn, target)
        if turn.key in OPENS and turn.is_enclosed:
            self._obstacles[turn.index, Obstacle.NESTED] = None
        elif turn.key in OPENS:
            self._block = turn
        elif target is not None:
            self._include(turn, target)
        elif is_include and not turn.is_conditional:
            self._last = None

    def _target(self, turn: Turn) -> Place | None:
        """The section that an include means; None when its file is unknown."""
        name, colon, section = turn.value.rpartition(":")
        if turn.key != "ini" or not colon or "://" in turn.value:
            name, section = turn.value, ""
        section = section or SECTION
        if turn.key == "ini" and colon and not name:
            return replace(self._last, section=section) if self._last else None
        if name in {"%p", turn.place.path}:
            return replace(turn.place, section=section)
        lines = self._file(name)
        if lines is None or not (turn.key == "ini" or name.endswith(".ini")):
            return None
        return Place(lines, name, name, section)

    def _include(self, turn: Turn, target: Place) -> None:
        within = (*turn.place.within, (turn.place.source, turn.place.section))
        if (target.source, target.section) in within:
            self._obstacles[turn.index, Obstacle.CYCLE] = None
            return
        if len(within) > _MOST_DEPTH:
            self._obstacles[turn.index, Obstacle.TOO_DEEP] = None
            return
        if target.section not in self._lines_of(target):
            self._obstacles[turn.index, Obstacle.UNKNOWN_SECTION] = None
        self.enter(
            replace(
                target,
                within=within,
                is_enclosed=turn.is_enclosed,
                is_conditional=turn.is_conditional,
            )
        )


def _cost(text: str, more: int = 0) -> int:
    """What reading a text takes out of the room, with `more` characters in it."""
    return 1 + (len(text) + more) // _LINE_CHARS


@dataclass(frozen=True, slots=True)
class Step:
    """One line that has a key, at its turn; `index` is its place in the file, from 0."""

    index: int
    line: Line
    is_conditional: bool
    is_foreign: bool = False  # it includes another file, which may set anything


@dataclass(frozen=True, slots=True)
class Walk:
    """All steps from the first line of `[uwsgi]` to its last.

    `end` is the last line of that section itself below which nothing is conditional, and `done` is
    the number of steps up to there; None and 0 without such a line.
    """

    steps: tuple[Step, ...]
    obstacles: tuple[tuple[int, Obstacle], ...]
    end: int | None
    done: int


def walk(lines: Sequence[Line], section: str = SECTION) -> Walk:
    """How uWSGI goes through a file when it reads `section`."""
    walker = _Walker(lines)
    walker.enter(Place(lines, section=section))
    return walker.result()


class _Walker(Interpreter):
    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__(lines)
        self._steps: list[Step] = []

    def _see(self, turn: Turn, target: Place | None) -> None:
        is_foreign = turn.key in INCLUDES and target is None
        line = turn.place.lines[turn.index]
        self._steps.append(Step(turn.index, line, turn.is_conditional, is_foreign))

    def result(self) -> Walk:
        """The steps and obstacles, after `enter`."""
        if self._block is not None:
            self._obstacles[self._block.index, Obstacle.UNCLOSED] = None
        return Walk(tuple(self._steps), tuple(sorted(self._obstacles)), self._end, self._done)
