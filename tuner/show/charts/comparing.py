"""Charts of a comparison: one figure of all arms, over the rungs of the load or side by side."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tuner.nouns.model import SERIES_STEP_S, Figure, Metric, Rung
from tuner.nouns.wording import COLUMNS, ends, in_unit, measured, thousands
from tuner.nouns.wording import rung as rung_name
from tuner.show.charts.frame import BOTTOM, HEIGHT, TOP, Axis, Frame, Tick, log_ticks, number
from tuner.show.charts.svg import ARMS, Point, line, mark, path, short, text

# ---- Names of lines beside their ends: colour is never the only sign of an arm

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


# ---- Charts of a comparison: one figure of all arms, over the rungs of the load or side by side
#
# An arm has a colour, a mark and its name beside its line: colour is never the only sign.

_ROW = 24  # pixels
_ASIDE = 3.0  # pixels between the intervals of two arms at one rung, at most
_ALL_ASIDE = 12.0  # pixels between those of the first and the last arm, at most
_TICK_ROOM = 0.08  # share of an axis that the number of a rung takes
_PATH = 14  # characters of a path below its mark
_LOG_FROM = 30.0  # an axis is logarithmic from this ratio of its largest to its smallest figure


def ladder_chart(
    metric: Metric,
    arms: Mapping[str, Sequence[Figure]],
    *,
    label: str = "",
    kb: Mapping[Rung, float] | None = None,
) -> str:
    """A line with its intervals for each arm that has figures, over connections or over paths.

    `label` names what is drawn, if it is not the metric itself. `kb` holds the sizes of the answers
    by their paths.
    """
    rungs = dict.fromkeys(found.rung for figures in arms.values() for found in figures)
    across = _Across.of([rung for rung in rungs if rung is not None], kb or {})
    frame, aside = _frame(metric, arms, across, label), min(_ASIDE, _ALL_ASIDE / len(arms))
    lines = [
        _Line(frame, across, arm, name, figures, aside=aside * (arm - (len(arms) - 1) / 2))
        for arm, (name, figures) in enumerate(arms.items())
        if figures
    ]
    names = names_beside(frame, (End(own.points[-1], own.arm, own.name) for own in lines))
    return frame.drawn([shape for own in lines for shape in own.drawn()] + names, [])


@dataclass(frozen=True, slots=True)
class _Across:
    """Where the rungs lie: by connections, by the sizes of answers, or one beside the other."""

    label: str
    places: Mapping[Rung, float]
    names: Mapping[Rung, str]
    is_log: bool = True

    @classmethod
    def of(cls, rungs: Sequence[Rung], kb: Mapping[Rung, float]) -> "_Across":
        """The place and the name of every rung."""
        counts = sorted(rung for rung in rungs if isinstance(rung, int)) or [1]
        paths = [rung for rung in rungs if isinstance(rung, str)]
        places: dict[Rung, float]
        if not paths:
            places = {count: float(count) for count in counts}
            return cls("connections", places, {rung: thousands(rung) for rung in counts})
        if len({kb.get(path, 0.0) for path in paths} - {0.0}) == len(paths) > 1:
            places = {path: kb[path] for path in sorted(paths, key=lambda path: kb[path])}
            names = {rung: f"{size:.3g}" for rung, size in places.items()}
            return cls("size of the answer, KB", places, names)
        places = {path: float(place) for place, path in enumerate(paths, 1)}
        return cls("path", places, {path: short(path, _PATH) for path in paths}, is_log=False)

    @property
    def axis(self) -> Axis:
        """With room at both ends."""
        first, last = self._ends
        low, high = (first / 1.15, last * 1.15) if self.is_log else (0.5, last + 0.5)
        label = f"{self.label} (log)" if self.is_log else self.label
        ticks = list(self._ticks())
        return Axis(low=low, high=high, label=label, ticks=ticks, is_log=self.is_log)

    @property
    def _ends(self) -> tuple[float, float]:
        return min(self.places.values()), max(self.places.values())

    def _ticks(self) -> Iterable[Tick]:
        """The top rung, and those below whose names do not lie on each other."""
        first, last = self._ends
        room, above = (last / first) ** _TICK_ROOM if self.is_log else 1.0, math.inf
        for rung, place in reversed([*self.places.items()]):
            if place * room <= above:
                yield Tick(place, self.names[rung])
                above = place


def _frame(
    metric: Metric, arms: Mapping[str, Sequence[Figure]], across: _Across, label: str
) -> Frame:
    """With room for the names at the right."""
    what = label or COLUMNS[metric]
    return Frame(
        title=f"{what} over {across.label.partition(',')[0]}",
        description=_described(metric, arms, what),
        across=across.axis,
        up=_axis(metric, arms.values(), what),
        height=max(HEIGHT, room_for(len(arms))),
        margin=MARGIN,
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """One arm in a chart over rungs; `aside` keeps its intervals apart from those of others."""

    frame: Frame
    across: _Across
    arm: int
    name: str
    figures: Sequence[Figure]
    aside: float

    @property
    def points(self) -> list[Point]:
        """Rung by rung."""
        return [(self._x(found), self._y(found, found.value)) for found in self.figures]

    def drawn(self) -> Iterable[str]:
        """Intervals, the line, and its marks."""
        for (x, _), found in zip(self.points, self.figures, strict=True):
            if found.ci_low is not None:
                low, high = self._y(found, found.ci_low), self._y(found, found.ci_high)
                yield path(f"M{x:.1f} {low:.1f}V{high:.1f}", f"s{self.arm % ARMS} thin")
        yield line(self.points, self.arm)
        for (x, y), found in zip(self.points, self.figures, strict=True):
            place = f"{self.name}, {rung_name(found.rung or 1)}"
            yield mark(x, y, self.arm, hint=f"{place}: {_in_words(found)}")

    def _x(self, found: Figure) -> float:
        return self.frame.x(self.across.places[found.rung or 1]) + self.aside

    def _y(self, found: Figure, value: float | None) -> float:
        """The edge of the chart for an end without bound, and for what a log axis cannot show."""
        up = self.frame.up
        value = up.high if value is None else in_unit(value, found.metric)
        return self.frame.clipped_y(max(value, up.low))


def arms_chart(metric: Metric, arms: Mapping[str, Figure]) -> str:
    """A point with its interval for each arm, one below the other.

    An arrow: the interval goes on beyond the chart.
    """
    across = _axis(metric, [[found] for found in arms.values()], COLUMNS[metric])
    rows = [Tick(float(row), short(name, 26)) for row, name in enumerate(arms)]
    frame = Frame(
        title=COLUMNS[metric],
        description=_described(
            metric, {name: [found] for name, found in arms.items()}, COLUMNS[metric]
        ),
        across=across,
        up=Axis.rows(len(arms), rows),
        height=124 + _ROW * len(arms),
        left=200,
    )
    body: list[str] = []
    for row, (name, found) in enumerate(arms.items()):
        x, y = frame.clipped_x(in_unit(found.value, metric)), frame.y(row)
        if found.ci_low is not None:
            high = across.high if found.ci_high is None else in_unit(found.ci_high, metric)
            goes_on = found.ci_high is None or high > across.high
            low, high = max(in_unit(found.ci_low, metric), across.low), min(high, across.high)
            steps = f"M{frame.x(low):.1f} {y:.1f}H{frame.x(high):.1f}"
            arrow = f"M{frame.right - 6:.1f} {y - 4:.1f}l6 4l-6 4" if goes_on else ""
            body.append(path(steps + arrow, f"s{row % ARMS} line"))
        body.append(mark(x, y, row, hint=f"{name}: {_in_words(found)}"))
    return frame.drawn(body, [])


def _axis(metric: Metric, arms: Iterable[Sequence[Figure]], label: str) -> Axis:
    """From 0, or logarithmic where the figures differ by far; wide intervals are cut."""
    found = [figure for figures in arms for figure in figures]
    values = [in_unit(figure.value, metric) for figure in found]
    highs = [in_unit(f.ci_high, metric) for f in found if f.ci_high is not None]
    largest = max(values, default=0.0) or 1.0
    top = max(largest, min(max(highs, default=0.0), 1.5 * largest))
    smallest = min(values, default=0.0)
    if smallest > 0 and largest / smallest >= _LOG_FROM:
        low, high = smallest / 1.5, top * 1.2
        ticks = log_ticks(low, high)
        return Axis(low=low, high=high, label=f"{label} (log)", ticks=ticks, is_log=True)
    return Axis.even(0, 1.08 * top, label)


def _described(metric: Metric, arms: Mapping[str, Sequence[Figure]], what: str) -> str:
    """The figures in words, for readers who cannot see the chart."""
    shown = (
        f"{name} {', '.join(measured(found.value, metric) for found in figures) or 'none'}"
        for name, figures in arms.items()
    )
    return f"{what}: {'; '.join(shown)}"


def _in_words(found: Figure) -> str:
    return f"{measured(found.value, found.metric)} ({ends(found)})"


# ---- A figure of several arms over the seconds of one window each

_HEIGHT = 260  # pixels: there are several of these charts


def seconds_chart(title: str, unit: str, arms: Mapping[str, Sequence[float]]) -> str:
    """A line for each arm that has values: one value for each 0.25 s since the load began.

    It stands in the middle of its step. All are in `unit`, and none is below 0.
    """
    steps = max(map(len, arms.values()), default=0)
    largest = max((max(values) for values in arms.values() if values), default=0.0)
    frame = Frame(
        title=title,
        description=f"{unit}, at most: {_seconds_described(arms)}",
        across=Axis.even(0, max(1, steps) * SERIES_STEP_S, "seconds since the load began", 8),
        up=Axis.even(0, 1.08 * (largest or 1.0), unit, 5),
        height=max(_HEIGHT, room_for(len(arms))),
        margin=MARGIN,
    )
    body: list[str] = []
    ends: list[End] = []
    for arm, (name, values) in enumerate(arms.items()):
        points = [
            (frame.x((step + 0.5) * SERIES_STEP_S), frame.y(value))
            for step, value in enumerate(values)
        ]
        if points:
            body.append(line(points, arm))
            ends.append(End(points[-1], arm, name))
    return frame.drawn(body + names_beside(frame, ends), [])


def _seconds_described(arms: Mapping[str, Sequence[float]]) -> str:
    """The largest value of each arm in words, for readers who cannot see the chart."""
    shown = (f"{name} {number(max(values)) if values else 'none'}" for name, values in arms.items())
    return "; ".join(shown)
