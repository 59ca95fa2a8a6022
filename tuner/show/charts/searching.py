"""Charts of a search: its trials, their values, and what it believes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.nouns import wording
from tuner.nouns.model import Importance, Metric, Scalar, Slice, SlicePoint, Trial
from tuner.nouns.wording import percent, share, value
from tuner.show.charts.deciding import gain_axis, gain_in, gain_of
from tuner.show.charts.frame import BOTTOM, RIGHT, TOP, Axis, Frame, Key, Tick, document
from tuner.show.charts.svg import area, cross, line, line_through, mark, path, short, text

# ---- The values of one parameter, and their places on an axis

_LOG_FROM = 8
"""An axis is logarithmic from this ratio of its largest to its smallest number."""

_TICK_ROOM = 0.045
"""Share of an axis that a line of small text takes."""


@dataclass(frozen=True, slots=True)
class ValueAxis:
    """The axis of one parameter: numbers by size, words one after the other. True is not 1."""

    axis: Axis
    places: Mapping[tuple[type, Scalar], float]

    @classmethod
    def of(cls, values: Sequence[Scalar], wanted: int = 7) -> "ValueAxis":
        """An axis on which all of these different values have their place."""
        is_number = all(_is_number(value) for value in values)
        places = [float(value) if is_number else float(n) for n, value in enumerate(values)]
        low, high = min(places), max(places)
        if low == high:
            low, high = low - 1, high + 1
        marked = list(zip(places, values, strict=True))
        if is_number and len(marked) > wanted:
            step = (len(marked) - 1) / (wanted - 1)
            marked = [marked[round(n * step)] for n in range(wanted)]
        ticks = [Tick(place, wording.value(value)) for place, value in marked]
        is_log = is_number and low > 0 and high / low >= _LOG_FROM
        keys = [(type(value), value) for value in values]
        axis = Axis(low=low, high=high, label="", ticks=ticks, is_log=is_log)
        return cls(axis, dict(zip(keys, places, strict=True)))

    def place(self, value: Scalar | None) -> float | None:
        """Where a value lies; None for one that is not on the axis."""
        return self.places.get((type(value), value)) if value is not None else None

    def share(self, value: Scalar) -> float:
        """How far along the axis a value lies, 0..1."""
        return self.axis.share(self.places[type(value), value])

    @property
    def readable_ticks(self) -> Iterable[tuple[str, float]]:
        """Labels with their shares: those far enough from the one before, and the last one."""
        *others, last = [(tick.label, self.axis.share(tick.at)) for tick in self.axis.ticks]
        before = -math.inf
        for label, place in others:
            if place - before >= _TICK_ROOM and last[1] - place >= _TICK_ROOM:
                yield label, place
                before = place
        yield last


def distinct(trials: Iterable[Trial], name: str) -> list[Scalar]:
    """Each value once, a flag apart from a number; numbers in order, words as they came."""
    found = {(type(v), v): v for t in trials if (v := t.params.get(name)) is not None}
    values = list(found.values())
    return sorted(values, key=float) if all(_is_number(value) for value in values) else values


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# ---- Charts of a search: its trials one after the other, and the values that each of them had

_WIDTH, _HEIGHT, _LEFT = 760, 380, 48  # of parallel coordinates, pixels
_FEASIBLE, _BROKEN, _DEAD = 0, 1, 4  # arms, as colours and shapes go
_DEPTH = 0.6
"""A loss this far below the best is drawn at the lower edge: the rest would be a flat line."""


@dataclass(frozen=True, slots=True)
class _Search:
    """The trials of a search with their gains as shares; a trial without a result has none."""

    trials: Sequence[Trial]
    gains: Mapping[int, float]

    @classmethod
    def of(cls, trials: Sequence[Trial], metric: Metric) -> "_Search":
        gains = {trial.number: gain_of(trial, metric) for trial in trials}
        return cls(trials, {number: gain for number, gain in gains.items() if gain is not None})

    @property
    def best(self) -> Trial | None:
        """The best feasible trial."""
        scored = [trial for trial in self.trials if self.is_feasible(trial)]
        return max(scored, key=lambda trial: self.gains[trial.number], default=None)

    @property
    def edge(self) -> float:
        """The lowest gain that is drawn where it is. It is at most 0, which is on every axis."""
        return min(0.0, max(self.gains.values(), default=0.0) - _DEPTH)

    def is_feasible(self, trial: Trial) -> bool:
        """Whether a trial has a gain and kept every bound."""
        is_feasible = trial.outcome is not None and trial.outcome.is_feasible
        return is_feasible and trial.number in self.gains

    def axis(self, metric: Metric, wanted: int = 6) -> Axis:
        """The axis of all gains; gains below the edge are left out."""
        return gain_axis([max(gain, self.edge) for gain in self.gains.values()], metric, wanted)

    def in_words(self, trial: Trial) -> str:
        """A trial with its gain."""
        gain = self.gains.get(trial.number)
        if gain is None:
            return f"trial {trial.number}: no result"
        bound = "" if self.is_feasible(trial) else ", breaks a bound"
        return f"trial {trial.number}: {percent(gain)}{bound}"

    @property
    def best_in_words(self) -> str:
        return f"is {self.in_words(self.best)}" if self.best else "is not known"


def trials_over_time(trials: Sequence[Trial], metric: Metric) -> str:
    """The gain of every trial in order, with the best feasible one so far as a line."""
    search = _Search.of(trials, metric)
    last = max([1, *(trial.number for trial in trials)])
    broken = sum(not search.is_feasible(t) for t in trials if t.number in search.gains)
    dead = len(trials) - len(search.gains)
    frame = Frame(
        title="Trials over time",
        description=f"{len(trials)} trials; {broken} break a bound, {dead} have no result; "
        f"the best feasible one {search.best_in_words}",
        across=Axis.counting(-0.5, last, "trial", 10),
        up=search.axis(metric),
    )
    legend = [Key(name="trial", arm=_FEASIBLE), Key(name="best so far", arm=5, shape="line")]
    if broken:
        legend.append(Key(name="breaks a bound", arm=_BROKEN, shape="hollow"))
    if dead:
        legend.append(Key(name="no result", arm=_DEAD, shape="cross"))
    if any(gain < search.edge for gain in search.gains.values()):
        legend.append(Key(name="lower still", arm=4))
    marks = [_trial(frame, trial, search) for trial in trials]
    return frame.drawn([frame.level(0), *_incumbent(frame, search), *marks], legend)


def _trial(frame: Frame, trial: Trial, search: _Search) -> str:
    x, hint, gain = frame.x(trial.number), search.in_words(trial), search.gains.get(trial.number)
    if gain is None:
        return cross(x, frame.floor - 8, _DEAD, hint)
    is_feasible = search.is_feasible(trial)
    arm = 4 if gain < search.edge else _FEASIBLE if is_feasible else _BROKEN
    return mark(x, frame.y(max(gain, search.edge)), arm, hollow=not is_feasible, hint=hint)


def _incumbent(frame: Frame, search: _Search) -> Iterable[str]:
    """Steps from each best trial to the next, and on to the end."""
    best, points = -math.inf, list[tuple[float, float]]()
    for trial in sorted(search.trials, key=lambda t: t.number):
        if not search.is_feasible(trial) or (gain := search.gains[trial.number]) <= best:
            continue
        x, y = frame.x(trial.number), frame.y(gain)
        if points:
            points.append((x, points[-1][1]))
        points.append((x, y))
        best = gain
    if points:
        yield line([*points, (frame.right, points[-1][1])], 5, kind="line")


def varied(trials: Sequence[Trial]) -> list[str]:
    """The parameters of which the trials had more than one value, in their order."""
    names = dict.fromkeys(name for trial in trials for name in trial.params)
    return [name for name in names if len(distinct(trials, name)) > 1]


def parallel_coordinates(trials: Sequence[Trial], metric: Metric, chosen: int | None = None) -> str:
    """One line a trial through its values, and at the right end through its gain.

    Only parameters that varied have an axis. The better a trial, the stronger its line; trials
    without a gain end before the last axis. `chosen` is the number of the trial that stands out.
    """
    search = _Search.of(trials, metric)
    scales = {name: ValueAxis.of(distinct(trials, name)) for name in varied(trials)}
    last = search.axis(metric, 5)
    step = (_WIDTH - _LEFT - RIGHT - 30) / max(1, len(scales))
    order = sorted(
        trials, key=lambda t: (t.number == chosen, search.gains.get(t.number, -math.inf))
    )
    body = [text(_LEFT, 22, "What the trials tried", kind="title")]
    for rank, trial in enumerate(order, 1):
        points = [
            (_LEFT + step * n, _height(scale.share(trial.params[name])))
            for n, (name, scale) in enumerate(scales.items())
            if name in trial.params
        ]
        if trial.number in search.gains:
            gain = max(search.gains[trial.number], search.edge)
            points.append((_LEFT + step * len(scales), _height(last.share(gain))))
        kind, opacity = _stroke(trial, search, rank / len(order), is_chosen=trial.number == chosen)
        body += [line_through(points, kind, search.in_words(trial), opacity)] * (len(points) > 1)
    body += _axes(scales, last, step)
    in_text = f"{len(trials)} trials over {', '.join(scales) or 'nothing'}; {search.best_in_words}"
    return document("What the trials tried", in_text, _WIDTH, _HEIGHT, body)


def _axes(scales: Mapping[str, ValueAxis], last: Axis, step: float) -> Iterable[str]:
    """An axis a parameter with its name below, and the axis of gains; names need two rows if many.

    `step` are pixels from one axis to the next.
    """
    is_crowded = len(scales) > 6
    for place, (name, scale) in enumerate(scales.items()):
        x, y = _LEFT + step * place, _HEIGHT - BOTTOM + 20 + 14 * (place % 2 and is_crowded)
        shown = short(name, int(step * (2 if is_crowded else 1) / 6.5))
        yield text(x, y, shown, kind="small", anchor="middle")
        yield from _axis(x, scale.readable_ticks)
    end = _LEFT + step * len(scales)
    yield from _axis(end, [(tick.label, last.share(tick.at)) for tick in last.ticks])
    yield text(end, TOP - 10, last.label, kind="small", anchor="end")


def _height(share: float) -> float:
    """Pixels from the top of a share of an axis."""
    return _HEIGHT - BOTTOM - share * (_HEIGHT - BOTTOM - TOP)


def _stroke(
    trial: Trial, search: _Search, rank: float, *, is_chosen: bool
) -> tuple[str, float | None]:
    """Kind and opacity of a trial's line; the best has rank 1."""
    if is_chosen:
        return "s1 thick", None
    return ("s0 thin", 0.1 + 0.6 * rank**3) if search.is_feasible(trial) else ("s4 l4 thin", 0.45)


def _axis(x: float, ticks: Iterable[tuple[str, float]]) -> Iterable[str]:
    yield path(f"M{x:.1f} {_height(0):.1f}V{_height(1):.1f}", "axis")
    for label, place in ticks:
        yield text(x + 5, _height(place) + 3, short(label, 14), kind="small")


# ---- Charts of what a search believes: which parameters matter, and what each value would bring

_ROW = 26  # pixels


def slice_band(
    found: Slice,
    metric: Metric,
    *,
    users: Scalar | None = None,
    chosen: Scalar | None = None,
    reach: Iterable[float] | None = None,
) -> str:
    """What is expected along one parameter, with the values of the user's file and of the new one.

    `reach` are the shares that the axis has to hold, of all slices that shall be comparable.
    """
    points = [point for point in found.points if gain_in(point, metric).is_known]
    ends = [end for point in points for end in gain_in(point, metric)]
    scale = ValueAxis.of([point.value for point in points] or [0], 6)
    in_text = "; ".join(
        f"{value(point.value)}: {gain_in(point, metric).figure}" for point in points
    )
    frame = Frame(
        title=short(found.parameter, 38),
        description=f"expected gain along {found.parameter}: {in_text}",
        across=_padded(scale.axis),
        up=gain_axis(reach or ends, metric, 5),
        width=370,
        height=250,
        left=52,
    )
    body = [frame.level(0)]
    for at, name, y in _marked(scale.place(users), scale.place(chosen)):
        body += [frame.upright(at, "bound"), text(frame.x(at) + 4, y, name, kind="small")]
    across = [frame.x(scale.places[type(point.value), point.value]) for point in points]
    return frame.drawn([*body, *_curve(frame, points, across, metric)], [])


def _marked(users: float | None, chosen: float | None) -> Iterable[tuple[float, str, int]]:
    """Places that have a name, with the height of that name in pixels."""
    if users is not None:
        yield users, "yours, kept" if users == chosen else "yours", 76
    if chosen is not None and chosen != users:
        yield chosen, "new", 90


def _padded(axis: Axis) -> Axis:
    """With room at both ends, so that no mark lies on the frame."""
    if axis.is_log:
        return replace(axis, low=axis.low / 1.15, high=axis.high * 1.15)
    room = 0.08 * (axis.high - axis.low)
    return replace(axis, low=axis.low - room, high=axis.high + room)


def _curve(
    frame: Frame, points: Sequence[SlicePoint], across: Sequence[float], metric: Metric
) -> Iterable[str]:
    """A line with its band where values are numbers; points with whiskers where they are words."""
    gains = [gain_in(point, metric) for point in points]
    middle, lower, upper = (
        [(x, frame.clipped_y(gain[end])) for x, gain in zip(across, gains, strict=True)]
        for end in range(3)
    )
    if any(isinstance(point.value, bool | str) for point in points):
        for (x, low), (_, high) in zip(lower, upper, strict=True):
            yield path(f"M{x:.1f} {low:.1f}V{high:.1f}", "s0 line")
    elif points:
        yield area(lower, upper, 0)
        yield line(middle, 0)
    for (x, y), point, gain in zip(middle, points, gains, strict=True):
        yield mark(x, y, 0, hint=f"{value(point.value)}: {gain.figure} ({gain.interval})")


def importance_bars(importances: Sequence[Importance]) -> str:
    """The share of every parameter, each with its interval."""
    in_text = "; ".join(f"{own.parameter} {share(own.share, 0)}" for own in importances)
    count = max(1, len(importances))
    frame = Frame(
        title="Share of each parameter",
        description=f"share of each parameter in what the search saw change: {in_text}",
        across=Axis(
            low=0,
            high=1,
            label="share in what the search saw change, %",
            ticks=[Tick(at / 100, str(at)) for at in range(0, 101, 20)],
        ),
        up=Axis.rows(
            count, [Tick(float(n), short(own.parameter, 24)) for n, own in enumerate(importances)]
        ),
        height=128 + _ROW * count,
        left=180,
    )
    body = [shape for row, own in enumerate(importances) for shape in _bar(frame, row, own)]
    return frame.drawn(body, [Key(name="90 % interval", arm=5, shape="line")])


def _bar(frame: Frame, row: int, own: Importance) -> Iterable[str]:
    y, x = frame.y(row), frame.clipped_x(own.share)
    low, high = frame.clipped_x(own.low), frame.clipped_x(own.high)
    ends = f"{share(own.low, 0)} .. {share(own.high, 0)}"
    hint = f"{own.parameter}: {share(own.share, 0)} ({ends})"
    width = x - frame.left
    yield path(f"M{frame.left} {y - 7:.1f}h{width:.1f}v14h{-width:.1f}Z", "s0", hint, 0.75)
    yield path(
        f"M{low:.1f} {y:.1f}H{high:.1f}M{low:.1f} {y - 4:.1f}v8M{high:.1f} {y - 4:.1f}v8", "s5 line"
    )
