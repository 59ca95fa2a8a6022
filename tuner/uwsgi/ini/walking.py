"""The order in which uWSGI reads the lines of one file, its own sections put in where included.

Blocks do not nest: `if-` and `for` set one global state, any `end` clears it, section headers do
not, and an included section may leave it set. Inside an include that a block encloses no `end`
counts. (uWSGI 2.0.31: core/config.c)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tuner.uwsgi.ini.lines import CLOSES, INCLUDES, OPENS, SECTION, Line

_MOST_DEPTH = 32
_MOST_EXTRA_STEPS = 20_000  # beyond one for each line: includes of includes may double each time


class Obstacle(StrEnum):
    """What keeps a file from being read as it is meant."""

    UNCLOSED = "unclosed-block"
    STRAY_END = "stray-end"
    NESTED = "nested-block"
    UNKNOWN_SECTION = "unknown-section"
    CYCLE = "include-cycle"
    TOO_DEEP = "include-depth"


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

    `end` is the last line of that section itself below which nothing is conditional, and `done`
    the number of steps up to there; None and 0 where there is no such line.
    """

    steps: tuple[Step, ...]
    obstacles: tuple[tuple[int, Obstacle], ...]
    end: int | None
    done: int


def walk(lines: Sequence[Line], section: str = SECTION) -> Walk:
    """How uWSGI goes through a file when it is asked for `section`."""
    walker = _Walker(lines)
    walker.enter(section, (), is_conditional=False)
    return walker.result()


class _Walker:
    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._places: dict[str | None, list[int]] = {}
        self._sections = {line.section for line in lines}
        for index, line in enumerate(lines):
            if line.key is not None:
                self._places.setdefault(line.section, []).append(index)
        self._room = len(lines) + _MOST_EXTRA_STEPS
        self._steps: list[Step] = []
        self._obstacles: dict[tuple[int, Obstacle], None] = {}
        self._opener: int | None = None
        self._is_elsewhere = False  # another file was read: `ini = :section` is of that one now
        self._end: int | None = None
        self._done = 0

    def result(self) -> Walk:
        """What was found, once the walk is over."""
        if self._opener is not None:
            self._obstacles[self._opener, Obstacle.UNCLOSED] = None
        return Walk(tuple(self._steps), tuple(sorted(self._obstacles)), self._end, self._done)

    def enter(self, section: str, within: tuple[str, ...], *, is_conditional: bool) -> None:
        """Walk a section; `within` are those that include it, `is_conditional` for a block does."""
        for index in self._places.get(section, ()):
            if self._room <= 0:
                self._obstacles[index, Obstacle.TOO_DEEP] = None
                return
            self._room -= 1
            self._visit(index, (*within, section), is_conditional=is_conditional)
            if not within and self._opener is None:
                self._end, self._done = index, len(self._steps)

    def _visit(self, index: int, within: tuple[str, ...], *, is_conditional: bool) -> None:
        line = self._lines[index]
        if line.key in CLOSES and not is_conditional:
            if self._opener is None:
                self._obstacles[index, Obstacle.STRAY_END] = None
            self._opener = None
        conditional = is_conditional or self._opener is not None
        target = None if self._is_elsewhere else line.own_section
        is_foreign = line.key in INCLUDES and target is None
        self._steps.append(Step(index, line, conditional, is_foreign))
        if line.key in OPENS:
            self._open(index, conditional)
        elif is_foreign:
            self._is_elsewhere |= not conditional
        elif target is not None:
            self._include(index, target, within, conditional)

    def _open(self, index: int, conditional: bool) -> None:
        if conditional:
            self._obstacles[index, Obstacle.NESTED] = None
        else:
            self._opener = index

    def _include(self, index: int, target: str, within: tuple[str, ...], conditional: bool) -> None:
        if target in within:
            self._obstacles[index, Obstacle.CYCLE] = None
        elif len(within) >= _MOST_DEPTH:
            self._obstacles[index, Obstacle.TOO_DEEP] = None
        elif target not in self._sections:
            self._obstacles[index, Obstacle.UNKNOWN_SECTION] = None
        else:
            self.enter(target, within, is_conditional=conditional)
