"""Charts of a search: its trials one after the other, and the values that each of them had.

All gains are shares, 0.05 being 5 % better than the baseline.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tuner.charts.frame import (
    BOTTOM,
    RIGHT,
    TOP,
    Axis,
    Frame,
    Key,
    Tick,
    document,
    even_ticks,
    percent_axis,
)
from tuner.charts.svg import cross, line, mark, path, short, text

Value = bool | int | str
"""A value of a parameter."""

_FEASIBLE, _BROKEN, _DEAD = 0, 1, 4  # arms, as colours and shapes go
_DEPTH = 0.6
"""A loss this far below the best is drawn at the lower edge: the rest would be a flat line."""

_LOG_FROM = 8
"""Numbers of which the largest is so many times the smallest are spread by their logs."""


_TICK_ROOM = 0.045
"""Share of an axis that a line of small text takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One trial of a search; `gain` is None where it has none, as its file did not work."""

    number: int
    gain: float | None
    is_feasible: bool = True
    is_chosen: bool = False
    values: Mapping[str, Value] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """The trial in words."""
        if self.gain is None:
            return f"trial {self.number}: no result"
        bound = "" if self.is_feasible else ", breaks a bound"
        return f"trial {self.number}: {100 * self.gain:+.1f} %{bound}"


def trials_over_time(attempts: Sequence[Attempt], label: str) -> str:
    """The gain of every trial in order, with the best feasible one so far as a line."""
    scored = [a.gain for a in attempts if a.gain is not None]
    best = max(scored, default=0.0)
    last = max((a.number for a in attempts), default=1)
    broken = sum(a.gain is not None and not a.is_feasible for a in attempts)
    dead = sum(a.gain is None for a in attempts)
    frame = Frame(
        title="Trials over time",
        description=f"{len(attempts)} trials; {broken} break a bound, {dead} have no result; "
        f"the best feasible one {_best_told(attempts)}",
        across=Axis(
            low=-0.5,
            high=max(1, last) + 0.5,
            label="trial",
            ticks=[t for t in even_ticks(0, max(1, last), 10) if t.at == int(t.at)],
        ),
        up=percent_axis([max(gain, _edge(best)) for gain in scored], label),
    )
    body = [frame.level(0), *_incumbent(frame, attempts)]
    body += [_attempt(frame, attempt, best) for attempt in attempts]
    return frame.drawn(body, _legend_of(attempts, best))


def _edge(best: float) -> float:
    """The lowest that is drawn where it is. It is no gain: 0 is on every axis anyway."""
    return min(0.0, best - _DEPTH)


def _best_told(attempts: Sequence[Attempt]) -> str:
    feasible = [a for a in attempts if a.gain is not None and a.is_feasible]
    best = max(feasible, key=lambda a: a.gain or 0.0, default=None)
    return best.told.replace("trial", "is trial", 1) if best else "is not known"


def _legend_of(attempts: Sequence[Attempt], best: float) -> list[Key]:
    keys = [Key(name="trial", arm=_FEASIBLE), Key(name="best so far", arm=5, shape="line")]
    if any(a.gain is not None and not a.is_feasible for a in attempts):
        keys.append(Key(name="breaks a bound", arm=_BROKEN, shape="hollow"))
    if any(a.gain is None for a in attempts):
        keys.append(Key(name="no result", arm=_DEAD, shape="cross"))
    if any(a.gain is not None and a.gain < _edge(best) for a in attempts):
        keys.append(Key(name="lower still", arm=4))
    return keys


def _attempt(frame: Frame, attempt: Attempt, best: float) -> str:
    x = frame.x(attempt.number)
    if attempt.gain is None:
        return cross(x, frame.floor - 8, _DEAD, attempt.told)
    if attempt.gain < _edge(best):
        y = frame.y(100 * _edge(best))
        return mark(x, y, 4, hollow=not attempt.is_feasible, hint=attempt.told)
    arm = _FEASIBLE if attempt.is_feasible else _BROKEN
    y = frame.y(100 * attempt.gain)
    return mark(x, y, arm, hollow=not attempt.is_feasible, hint=attempt.told)


def _incumbent(frame: Frame, attempts: Sequence[Attempt]) -> Iterable[str]:
    """Steps from each best trial to the next, and on to the end."""
    best, points = -math.inf, list[tuple[float, float]]()
    for attempt in sorted(attempts, key=lambda a: a.number):
        if attempt.gain is None or not attempt.is_feasible or attempt.gain <= best:
            continue
        x, y = frame.x(attempt.number), frame.y(100 * attempt.gain)
        if points:
            points.append((x, points[-1][1]))
        points.append((x, y))
        best = attempt.gain
    if points:
        yield line([*points, (frame.right, points[-1][1])], 5, kind="line")


def varied(attempts: Sequence[Attempt]) -> list[str]:
    """The parameters of which the trials had more than one value, in their order."""
    names = dict.fromkeys(name for a in attempts for name in a.values)
    return [name for name in names if len(_distinct(attempts, name)) > 1]


def parallel_coordinates(attempts: Sequence[Attempt], label: str) -> str:
    """One line a trial through its values, and at the right end through its gain.

    Only parameters that varied have an axis. The better a trial, the stronger its line; trials
    without a gain end before the last axis.
    """
    names = varied(attempts)
    axes = [_Scale.of(_distinct(attempts, name)) for name in names]
    gains = [a.gain for a in attempts if a.gain is not None]
    best = max(gains, default=0.0)
    last = percent_axis([max(gain, _edge(best)) for gain in gains], label, 5)
    width, height, left = 760, 380, 48
    step = (width - left - RIGHT - 30) / max(1, len(names))
    places = [left + step * n for n in range(len(names) + 1)]
    floor = height - BOTTOM

    def across(share: float) -> float:
        return floor - share * (floor - TOP)

    body = [text(left, 22, "What the trials tried", kind="title")]
    order = sorted(attempts, key=lambda a: (a.is_chosen, -math.inf if a.gain is None else a.gain))
    for rank, attempt in enumerate(order):
        points = [
            (x, across(scale.share(attempt.values[name])))
            for name, scale, x in zip(names, axes, places[:-1], strict=True)
            if name in attempt.values
        ]
        if attempt.gain is not None:
            gain = max(attempt.gain, _edge(best))
            points.append((places[-1], across(last.share(100 * gain))))
        body += _thread(points, attempt, (rank + 1) / len(order))
    for place, (name, scale, x) in enumerate(zip(names, axes, places[:-1], strict=True)):
        lowered = 14 if place % 2 and len(names) > 6 else 0
        room = int(step * (2 if len(names) > 6 else 1) / 6.5)
        body.append(text(x, floor + 20 + lowered, short(name, room), kind="small", anchor="middle"))
        body += _axis(x, scale.ticks, across)
    gain_ticks = [(tick.label, last.share(tick.at)) for tick in last.ticks]
    body += _axis(places[-1], gain_ticks, across)
    body.append(text(places[-1], TOP - 10, label, kind="small", anchor="end"))
    told = f"{len(attempts)} trials over {', '.join(names) or 'nothing'}; {_best_told(attempts)}"
    return document("What the trials tried", told, width, height, body)


def _thread(points: list[tuple[float, float]], attempt: Attempt, rank: float) -> Iterable[str]:
    if len(points) < 2:
        return
    steps = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    if attempt.is_chosen:
        yield path(steps, "s1 thick", attempt.told)
    elif attempt.gain is None or not attempt.is_feasible:
        yield path(steps, "s4 l4 thin", attempt.told, 0.45)
    else:
        yield path(steps, "s0 thin", attempt.told, 0.1 + 0.6 * rank**3)


def _axis(
    x: float, ticks: Iterable[tuple[str, float]], across: Callable[[float], float]
) -> Iterable[str]:
    yield path(f"M{x:.1f} {across(0):.1f}V{across(1):.1f}", "axis")
    for label, share in ticks:
        yield text(x + 5, across(share) + 3, short(label, 14), kind="small")


def _distinct(attempts: Iterable[Attempt], name: str) -> list[Value]:
    """Each value once, a flag apart from a number; numbers in order, words as they came."""
    found = {(type(v), v): v for a in attempts if (v := a.values.get(name)) is not None}
    values = list(found.values())
    return sorted(values, key=float) if all(_is_number(value) for value in values) else values


def _is_number(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where the values of a parameter lie on its axis, 0..1."""

    places: Mapping[tuple[type, Value], float]
    ticks: Sequence[tuple[str, float]]

    @classmethod
    def of(cls, values: Sequence[Value]) -> "_Scale":
        """Of all values that occur: numbers by size, words one after the other."""
        spread = value_axis(values, "")
        shares = [spread.share(at) for at in places_of(values)]
        keys = [(type(value), value) for value in values]
        ticks = [(tick.label, spread.share(tick.at)) for tick in spread.ticks]
        return cls(dict(zip(keys, shares, strict=True)), list(_readable(ticks)))

    def share(self, value: Value) -> float:
        return self.places[type(value), value]


def _readable(ticks: Iterable[tuple[str, float]]) -> Iterable[tuple[str, float]]:
    """Those far enough from the one before to be read; the last one always."""
    *others, last = ticks
    before = -math.inf
    for label, share in others:
        if share - before >= _TICK_ROOM and last[1] - share >= _TICK_ROOM:
            yield label, share
            before = share
    yield last


def places_of(values: Sequence[Value]) -> list[float]:
    """Numbers stand for themselves; anything else for its place in the list."""
    if all(_is_number(value) for value in values):
        return [float(value) for value in values]
    return [float(place) for place in range(len(values))]


def value_axis(values: Sequence[Value], label: str, wanted: int = 7) -> Axis:
    """An axis on which all of these values of one parameter have their place."""
    places = places_of(values)
    low, high = min(places), max(places)
    if low == high:
        low, high = low - 1, high + 1
    is_number = all(_is_number(value) for value in values)
    is_log = is_number and low > 0 and high / low >= _LOG_FROM
    marked = list(zip(places, values, strict=True))
    if is_number and len(marked) > wanted:
        step = (len(marked) - 1) / (wanted - 1)
        marked = [marked[round(n * step)] for n in range(wanted)]
    ticks = [Tick(place, value_text(value)) for place, value in marked]
    return Axis(low=low, high=high, label=label, ticks=ticks, is_log=is_log)


def value_text(value: Value) -> str:
    """A value as a file would have it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
