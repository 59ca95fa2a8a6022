"""Load over time: its warm-up, its course, and when it was normal again after a scene."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean, mean, median, stdev

from tuner.nouns.model import (
    ANSWERS_OF_A_CONNECTION,
    LONGER_AT_MOST,
    SERIES_STEP_S,
    Burst,
    ClosedLoop,
    Journey,
    Load,
)

# ---- Warm-up and windows: their length is measured, not assumed

MAY_DRIFT_BY = 0.02
"""A steady run's second half differs from its first by at most this share."""

SURPRISING = 2.0
"""Standard errors; a smaller difference is chance."""

_USERS = 16  # enough for every process; a burst as warm-up would take its whole length


def is_steady(series: Sequence[int], seconds: float) -> bool:
    """Whether the second half of a run served as much as the first, within the noise.

    `series` counts answers in steps of `SERIES_STEP_S`. The first step, in which connections open,
    does not count, nor does one that the `seconds` of load do not fill. A series that is too short
    counts as steady.
    """
    steps = series[1 : int(seconds / SERIES_STEP_S + 1e-9)]
    half = len(steps) // 2
    if half < 1:
        return True
    first, second = steps[:half], steps[-half:]
    level = fmean(steps)
    if level == 0:
        return True
    drift = abs(fmean(second) - fmean(first))
    return drift <= max(MAY_DRIFT_BY * level, SURPRISING * _standard_error(first, second, level))


def lengthened(window_s: float, load: Load, requests: int, duration_s: float) -> float:
    """Seconds in which each connection of a closed loop gets some answers, at least `window_s`.

    `requests` were answered in `duration_s` of a warm-up. A request takes `connections / rate`
    (Little's law).
    """
    if not isinstance(load, ClosedLoop):
        return window_s
    request_s = load.concurrency * duration_s / max(requests, 1)
    return min(max(window_s, ANSWERS_OF_A_CONNECTION * request_s), LONGER_AT_MOST * window_s)


def _standard_error(first: Sequence[int], second: Sequence[int], level: float) -> float:
    """Standard error of a difference of means; at least the uncertainty of counts (Poisson)."""
    half = len(first)
    spread = max(stdev(part) for part in (first, second)) if half > 1 else 0.0
    return max(spread, math.sqrt(level)) * math.sqrt(2 / half)


def warming(load: Load) -> Load:
    """The load of a warm-up: the same requests, at a pace that the target can sustain."""
    if isinstance(load, Burst):
        return Journey(
            kind="journey",
            users=min(load.users, _USERS),
            requests=load.requests,
            limit_s=load.limit_s,
            user_data=load.user_data,
        )
    return load


# ---- How a run of load went over time, and when it was normal again after something went wrong

SLOWER_BY = 3.0  # than before: no longer normal
SLOW_FROM_MS = 100.0  # below, latency is normal in any case
FEWER_THAN = 0.5  # of the answers of a step before: no longer normal
COUNTS_FROM = 4.0  # answers of a step: fewer come and go by chance
NORMAL_FOR = 3  # steps: one alone may be luck


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseStep:
    """The answers to the requests that were due in a quarter of a second."""

    answered: int
    p95_ms: float | None  # None without an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseFigures:
    """What the probe counts in one run of load. `steps` begin with the load.

    `late` counts the answers after the limit, and among them `unsent`: requests that a connection
    did not send because it waited.
    """

    late: int
    unsent: int
    longest_gap_s: float  # without an answer
    steps: tuple[CourseStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course(CourseFigures):
    """One run of load over time, its failures included."""

    started_at: datetime
    sent: int
    failed: int

    @property
    def due(self) -> int:
        """All requests of the run, also those that waited in vain for their turn."""
        return self.sent + self.unsent

    def back_to_normal_s(self, since_s: float, until_s: float) -> float | None:
        """Seconds from `since_s`, when a scene began, until all is normal again.

        0 if nothing was amiss until `until_s`, when it ended. At most the rest of the run. None if
        nothing was answered before. Both are seconds of the run.
        """
        first, last = max(1, int(since_s / SERIES_STEP_S)), int(until_s / SERIES_STEP_S)
        before = [step for step in self.steps[:first] if step.p95_ms is not None]
        if not before:
            return None
        usual = mean(step.answered for step in self.steps[:first])
        most_ms = max(SLOW_FROM_MS, SLOWER_BY * median(step.p95_ms or 0.0 for step in before))
        good = [_is_normal(step, usual, most_ms) for step in self.steps]
        bad = next((n for n in range(first, min(last + 1, len(good))) if not good[n]), None)
        if bad is None:
            return 0.0
        starts = range(bad + 1, len(good) - NORMAL_FOR + 1)
        back = next((n for n in starts if all(good[n : n + NORMAL_FOR])), len(good))
        return max(0.0, back * SERIES_STEP_S - since_s)


def _is_normal(step: CourseStep, usual: float, most_ms: float) -> bool:
    """`usual` is the number of answers of a step before."""
    fewest = FEWER_THAN * usual if usual >= COUNTS_FROM else 0.0
    return step.answered >= fewest and (step.p95_ms or 0.0) <= most_ms
