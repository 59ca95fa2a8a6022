"""Intervals for shares and for anything else that many runs add up to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from tests.benchmarks.replay.surface import FloatArray

DRAWS = 2000
_SEED = 20_261_121  # of the resampling: the same runs give the same interval

Statistic = Callable[[FloatArray], FloatArray]
"""Of samples along the last axis."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A value of `n` runs with its 95 % interval."""

    value: float
    low: float
    high: float
    n: int


def share(hits: int, n: int, level: float = 0.95) -> Figure:
    """A share with the exact interval of Clopper and Pearson. Raises `ValueError` for no runs."""
    if n < 1:
        raise ValueError("a share of no runs")
    tail = (1 - level) / 2
    low = float(special.betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(special.betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return Figure(hits / n, low, high, n)


def bootstrap(values: Sequence[float], statistic: Statistic, level: float = 0.95) -> Figure:
    """A statistic with its percentile interval. Raises `ValueError` for no runs."""
    if not values:
        raise ValueError("a statistic of no runs")
    sample = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(_SEED)
    drawn = sample[rng.integers(len(sample), size=(DRAWS, len(sample)))]
    low, high = np.quantile(statistic(drawn), [(1 - level) / 2, (1 + level) / 2])
    return Figure(float(statistic(sample)), float(low), float(high), len(sample))


def ratio_of_medians(ours: Sequence[float], theirs: Sequence[float], level: float = 0.95) -> Figure:
    """The median of one set over that of another; infinite where only the other one's is 0.

    Two medians of 0 are equal: their ratio is 1. Raises `ValueError` for no runs.
    """
    if not ours or not theirs:
        raise ValueError("a ratio of no runs")
    rng = np.random.default_rng(_SEED)

    def medians(values: Sequence[float]) -> FloatArray:
        sample = np.asarray(values, dtype=np.float64)
        drawn = sample[rng.integers(len(sample), size=(DRAWS, len(sample)))]
        return np.concatenate([[np.median(sample)], np.median(drawn, axis=-1)])

    above, below = medians(ours), medians(theirs)
    ratios = np.divide(above, below, out=np.where(above > 0, np.inf, 1.0), where=below > 0)
    low, high = np.quantile(ratios[1:], [(1 - level) / 2, (1 + level) / 2], method="nearest")
    return Figure(float(ratios[0]), float(low), float(high), len(ours))


def median(samples: FloatArray) -> FloatArray:
    """Along the last axis."""
    return np.asarray(np.median(samples, axis=-1), dtype=np.float64)


def mean(samples: FloatArray) -> FloatArray:
    """Along the last axis."""
    return np.asarray(np.mean(samples, axis=-1), dtype=np.float64)


def ninetieth(samples: FloatArray) -> FloatArray:
    """The 90th percentile along the last axis."""
    return np.asarray(np.quantile(samples, 0.9, axis=-1), dtype=np.float64)
