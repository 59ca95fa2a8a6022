"""Gains as charts and tables show them: log ratios become shares here, and nowhere else in a page.

A share of 0.05 is 5 % better than the baseline.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple, assert_never

from tuner.nouns.model import Factor, Look, Metric, SlicePoint, Standing, Trial
from tuner.nouns.wording import gain_label, improvement, interval, percent, share_of
from tuner.show.charts.frame import Axis, Tick, even_ticks

_FARTHEST = 3.0
"""An interval is drawn at most this many times as far as the gains themselves reach."""


class Gain(NamedTuple):
    """A gain with its interval, as shares; what is unbounded is infinite."""

    centre: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether there is a figure at all."""
        return math.isfinite(self.centre)

    @property
    def figure(self) -> str:
        """`+5.0 %`, or `unknown`."""
        return percent(self.centre) if self.is_known else "unknown"

    @property
    def interval(self) -> str:
        """`+1.2 % .. +9.1 %`."""
        return interval(self.low, self.high)


def gain_in(found: Look | Standing | Factor | SlicePoint, metric: Metric) -> Gain:
    """The gain that a noun holds as log ratios."""
    match found:
        case Look(estimate=centre) | Factor(effect=centre):
            logs = (centre, found.low, found.high)
        case Standing() | SlicePoint():
            logs = (found.gain, found.low, found.high)
        case _:
            assert_never(found)
    return Gain(*(share_of(log, metric) for log in logs))


def gain_of(trial: Trial, metric: Metric) -> float | None:
    """By which share a trial was better than the baseline of its own blocks; None: no result."""
    return improvement(trial.outcome.score if trial.outcome else None, metric)


def gain_axis(shares: Iterable[float], metric: Metric, wanted: int = 6) -> Axis:
    """An axis in percent around 0, wide enough for all of these shares that are bounded."""
    known = [100 * share for share in shares if math.isfinite(share)]
    low, high = min([0.0, *known]), max([0.0, *known])
    room = max(0.08 * (high - low), 0.5)
    low, high = low - room, high + room
    ticks = [Tick(tick.at / 100, tick.label) for tick in even_ticks(low, high, wanted)]
    return Axis(low=low / 100, high=high / 100, label=gain_label(metric), ticks=ticks)


def readable(gains: Iterable[Gain]) -> list[float]:
    """The shares that an axis has to hold: all gains, and the readable part of their intervals."""
    known = [gain for gain in gains if gain.is_known]
    farthest = _FARTHEST * (max((abs(gain.centre) for gain in known), default=0.0) or 0.01)
    ends = [end for gain in known for end in (gain.low, gain.high) if math.isfinite(end)]
    return [gain.centre for gain in known] + [min(max(end, -farthest), farthest) for end in ends]
