"""Warm-up: how long is enough is measured, not assumed."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from tuner.model import Burst, Journey, Load

MAY_DRIFT_BY = 0.02
"""Second half of a stretch against its first: this much is taken for steady."""

SURPRISING = 2.0
"""Standard errors; a difference below that is chance."""

LONGEST = 4
"""A warm-up is given up after so many times its shortest length."""

_USERS = 16  # enough to touch every process; a burst as warm-up would last as long as the burst


def is_steady(series: Sequence[int]) -> bool:
    """Whether the second half of a run served as much as the first, as far as its noise lets see.

    `series` counts answers in steps of equal length; its first step, in which the connections are
    opened, is left out. Too short a series says nothing against it.
    """
    steps = series[1:]
    half = len(steps) // 2
    if half < 1:
        return True
    first, second = steps[:half], steps[-half:]
    level = fmean(steps)
    if level == 0:
        return True
    drift = abs(fmean(second) - fmean(first))
    return drift <= max(MAY_DRIFT_BY * level, SURPRISING * _standard_error(first, second, level))


def _standard_error(first: Sequence[int], second: Sequence[int], level: float) -> float:
    """Of the difference of two means; at least what counting alone makes uncertain (Poisson)."""
    half = len(first)
    spread = max(stdev(part) for part in (first, second)) if half > 1 else 0.0
    return max(spread, math.sqrt(level)) * math.sqrt(2 / half)


def warming(load: Load) -> Load:
    """What to warm a target up with: the same requests, at a pace that can be kept up."""
    if isinstance(load, Burst):
        users = min(load.users, _USERS)
        return Journey(kind="journey", users=users, requests=load.requests, limit_s=load.limit_s)
    return load
