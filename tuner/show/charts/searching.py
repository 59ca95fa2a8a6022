"""Charts of a search: its trials one after the other, and the values that each of them had."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tuner.nouns.model import Metric, Trial
from tuner.nouns.wording import percent
from tuner.show.charts.frame import BOTTOM, RIGHT, TOP, Axis, Frame, Key, document
from tuner.show.charts.gains import gain_axis, gain_of
from tuner.show.charts.svg import cross, line, line_through, mark, path, short, text
from tuner.show.charts.values import ValueAxis, distinct

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
        """Of all gains, those below the edge left out."""
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
    for label, share in ticks:
        yield text(x + 5, _height(share) + 3, short(label, 14), kind="small")
