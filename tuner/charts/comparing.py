"""Charts of a comparison: one figure of all arms, over the rungs of a ladder or side by side.

An arm has a colour, a mark and its name beside its line: colour is never the only sign.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tuner.charts.frame import HEIGHT, Axis, Frame, Tick, log_ticks
from tuner.charts.naming import MARGIN, End, names_beside, room_for
from tuner.charts.paint import ARMS
from tuner.charts.svg import Point, line, mark, path, short
from tuner.model import Figure, Metric
from tuner.wording import COLUMNS, ends, in_unit, measured, thousands

_ROW = 24  # pixels
_ASIDE = 3.0  # pixels between the intervals of two arms at one rung, at most
_ALL_ASIDE = 12.0  # pixels between those of the first and the last arm, at most
_TICK_ROOM = 0.08  # share of an axis that the number of a rung takes
_LOG_FROM = 30.0  # an axis is logarithmic from this ratio of its largest to its smallest figure


def ladder_chart(metric: Metric, arms: Mapping[str, Sequence[Figure]]) -> str:
    """A line with its intervals for each arm that has figures; connections are logarithmic."""
    frame, aside = _frame(metric, arms), min(_ASIDE, _ALL_ASIDE / len(arms))
    lines = [
        _Line(frame, arm, name, figures, aside=aside * (arm - (len(arms) - 1) / 2))
        for arm, (name, figures) in enumerate(arms.items())
        if figures
    ]
    names = names_beside(frame, (End(own.points[-1], own.arm, own.name) for own in lines))
    return frame.drawn([shape for own in lines for shape in own.drawn()] + names, [])


def _frame(metric: Metric, arms: Mapping[str, Sequence[Figure]]) -> Frame:
    """With room for the names at the right."""
    rungs = sorted({f.concurrency or 1 for figures in arms.values() for f in figures}) or [1]
    across = Axis(
        low=rungs[0] / 1.15,
        high=rungs[-1] * 1.15,
        label="connections (log)",
        ticks=list(_ticks(rungs)),
        is_log=True,
    )
    return Frame(
        title=f"{COLUMNS[metric]} over connections",
        description=_described(metric, arms),
        across=across,
        up=_axis(metric, arms.values()),
        height=max(HEIGHT, room_for(len(arms))),
        margin=MARGIN,
    )


def _ticks(rungs: Sequence[int]) -> Iterable[Tick]:
    """The top rung, and those below whose numbers do not lie on each other."""
    room, above = (rungs[-1] / rungs[0]) ** _TICK_ROOM, math.inf
    for rung in reversed(rungs):
        if rung * room <= above:
            yield Tick(rung, thousands(rung))
            above = rung


@dataclass(frozen=True, slots=True)
class _Line:
    """One arm in a chart of a ladder; `aside` keeps its intervals apart from those of others."""

    frame: Frame
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
            place = f"{self.name}, {thousands(found.concurrency or 1)} connections"
            yield mark(x, y, self.arm, hint=f"{place}: {_in_words(found)}")

    def _x(self, found: Figure) -> float:
        return self.frame.x(found.concurrency or 1) + self.aside

    def _y(self, found: Figure, value: float | None) -> float:
        """The edge of the chart for an end without bound, and for what a log axis cannot show."""
        up = self.frame.up
        value = up.high if value is None else in_unit(value, found.metric)
        return self.frame.clipped_y(max(value, up.low))


def arms_chart(metric: Metric, arms: Mapping[str, Figure]) -> str:
    """A point with its interval for each arm, one below the other."""
    across = _axis(metric, [[found] for found in arms.values()])
    rows = [Tick(float(row), short(name, 26)) for row, name in enumerate(arms)]
    frame = Frame(
        title=COLUMNS[metric],
        description=_described(metric, {name: [found] for name, found in arms.items()}),
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
            low, high = max(in_unit(found.ci_low, metric), across.low), min(high, across.high)
            steps = f"M{frame.x(low):.1f} {y:.1f}H{frame.x(high):.1f}"
            body.append(path(steps, f"s{row % ARMS} line"))
        body.append(mark(x, y, row, hint=f"{name}: {_in_words(found)}"))
    return frame.drawn(body, [])


def _axis(metric: Metric, arms: Iterable[Sequence[Figure]]) -> Axis:
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
        return Axis(low=low, high=high, label=f"{COLUMNS[metric]} (log)", ticks=ticks, is_log=True)
    return Axis.even(0, 1.08 * top, COLUMNS[metric])


def _described(metric: Metric, arms: Mapping[str, Sequence[Figure]]) -> str:
    """The figures in words, for readers who cannot see the chart."""
    shown = (
        f"{name} {', '.join(measured(found.value, metric) for found in figures) or 'none'}"
        for name, figures in arms.items()
    )
    return f"{COLUMNS[metric]}: {'; '.join(shown)}"


def _in_words(found: Figure) -> str:
    return f"{measured(found.value, found.metric)} ({ends(found)})"
