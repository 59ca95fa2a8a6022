"""Warm-up and windows: their length is measured, not assumed."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from tuner.nouns.model import (
    ANSWERS_OF_A_CONNECTION,
    LONGER_AT_MOST,
    SERIES_STEP_S,
    Burst,
    ClosedLoop,
    Journey,
    Load,
)

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
    """Of the difference of two means; at least the uncertainty of counts (Poisson)."""
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
