"""Names of lines beside their ends: colour is never the only sign of an arm."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tuner.show.charts.frame import BOTTOM, TOP, Frame
from tuner.show.charts.svg import Point, mark, path, short, text

MARGIN = 205  # pixels at the right of a frame, for the names
_NAME = 15  # pixels, from one name to the next
_LETTERS = 26  # of a name: `uwsgi-as-published-tuned` is whole


class End(NamedTuple):
    """The end of the line of an arm, with the arm's name."""

    point: Point
    arm: int
    name: str


def room_for(names: int) -> int:
    """The height of a frame in pixels in which so many names stand below each other."""
    return TOP + BOTTOM + _NAME * names


def names_beside(frame: Frame, ends: Iterable[End]) -> list[str]:
    """The name of each line beside its end, moved where two would lie on each other."""
    found: list[str] = []
    ordered = sorted(ends, key=lambda end: end.point[1])
    left = frame.right + 22
    for end, y in zip(ordered, _apart([e.point[1] for e in ordered], frame.floor), strict=True):
        x_end, y_end = end.point
        found.append(path(f"M{x_end + 6:.1f} {y_end:.1f}L{left - 8:.1f} {y:.1f}", "grid"))
        found.append(mark(left, y, end.arm))
        found.append(text(left + 10, y + 4, short(end.name, _LETTERS)))
    return found


def _apart(heights: Sequence[float], floor: float) -> list[float]:
    """The heights, in ascending order, at least one name apart, and above the floor."""
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + _NAME) if places else height)
    lowest = floor
    for place in reversed(range(len(places))):
        places[place] = min(places[place], lowest)
        lowest = places[place] - _NAME
    return places
