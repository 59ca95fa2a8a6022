"""The location of a handful of values, and its interval.

Distributions come from `scipy.special`: `scipy.stats` has the same ones for a second of import.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median, stdev

from scipy import special

Z_MDE = float(special.ndtri(0.95) + special.ndtri(0.80))
"""Size of a detectable effect in standard errors: one-sided 5 %, power 80 %."""

LARGEST_LOG = 50.0
"""A larger log ratio has no meaning and may not be storable."""

FEWEST_BLOCKS = 4
"""With fewer blocks there is no verdict: the interval would be wider than any effect."""

_EXACT_UP_TO = 200  # values; beyond it the normal approximation is as good


@dataclass(frozen=True, slots=True)
class Estimate:
    """A location of log values with its interval, all in logs."""

    value: float
    low: float
    high: float


def walsh_averages(values: Sequence[float]) -> list[float]:
    """Means of all pairs, each value with itself included, in ascending order."""
    return sorted(
        (values[i] + values[j]) / 2 for i in range(len(values)) for j in range(i, len(values))
    )


def hodges_lehmann(values: Sequence[float]) -> float:
    """The median of the Walsh averages: nearly as sharp as the mean, and no outlier moves it far.

    Hodges and Lehmann 1963. Raises `ValueError` for no values.
    """
    if not values:
        raise ValueError("no values")
    return median(walsh_averages(values))


@cache
def _signed_rank_counts(n: int) -> tuple[int, ...]:
    """How many of the 2^n sign patterns give each value of the signed-rank statistic."""
    return counts_of_sums([(0, rank) for rank in range(1, n + 1)])


def counts_of_sums(choices: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """How many ways to take one number from each of `choices` give each sum 0, 1, 2, ..."""
    counts = [1]
    for steps in choices:
        longer = [0] * (len(counts) + max(steps))
        for total, ways in enumerate(counts):
            for step in steps:
                longer[total + step] += ways
        counts = longer
    return tuple(counts)


def tail_of(counts: Sequence[int], level: float) -> int:
    """How many of the lowest values of a statistic lie together outside of a two-sided `level`.

    `counts` are the ways to get each value 0, 1, 2, ..., all equally likely.
    """
    # (1 - level) / 2 is not exact: a tail of that size must still count
    tail = (1 - level) / 2 * sum(counts) * (1 + 1e-12)
    ways = 0
    for k, count in enumerate(counts):
        ways += count
        if ways > tail:
            return k
    return len(counts)


def signed_rank_interval(
    values: Sequence[float], level: float = 0.95
) -> tuple[float, float] | None:
    """The exact interval that inverts Wilcoxon's signed-rank test; None where n is too small.

    Holds for any symmetric distribution of the values. At level 0.95 it needs 6 of them.
    """
    averages, n = walsh_averages(values), len(values)
    if n <= _EXACT_UP_TO:
        k = tail_of(_signed_rank_counts(n), level)
    else:
        z = float(special.ndtri((1 + level) / 2))
        k = int(n * (n + 1) / 4 - z * math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
    if k == 0:
        return None
    return averages[k - 1], averages[len(averages) - k]


def student_quantile(degrees: float, level: float) -> float:
    """Half the width of a two-sided interval of that level, in standard errors."""
    return float(special.stdtrit(degrees, (1 + level) / 2))


def t_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean; infinite for fewer than two values."""
    n = len(values)
    if n < 2:
        return -math.inf, math.inf
    half = student_quantile(n - 1, level) * stdev(values) / math.sqrt(n)
    return fmean(values) - half, fmean(values) + half


def estimate(values: Sequence[float], level: float = 0.95) -> Estimate:
    """Hodges-Lehmann with its signed-rank interval, or with Student's where that has none."""
    low, high = signed_rank_interval(values, level) or t_interval(values, level)
    return Estimate(hodges_lehmann(values), low, high)


def trimmed_mean(values: Sequence[float]) -> float | None:
    """The mean without the highest and the lowest value; None for fewer than four.

    This is what benchmark articles have. It has no interval: compare it with theirs alone.
    """
    return fmean(sorted(values)[1:-1]) if len(values) >= FEWEST_BLOCKS else None


def bounded(found: Estimate) -> Estimate:
    """The estimate with ends that can be stored: an infinite one becomes ±`LARGEST_LOG`."""
    return Estimate(found.value, max(found.low, -LARGEST_LOG), min(found.high, LARGEST_LOG))


def unbounded(value: float) -> Estimate:
    """A value with an interval of any size."""
    return Estimate(value, -LARGEST_LOG, LARGEST_LOG)


def p_better(values: Sequence[float]) -> float:
    """P(true mean > 0) under a flat prior: Student's t with n - 1 degrees of freedom."""
    n = len(values)
    if n < 2:
        return 0.5
    spread = stdev(values)
    if spread == 0:
        return float(fmean(values) > 0) if fmean(values) else 0.5
    return float(special.stdtr(n - 1, fmean(values) / (spread / math.sqrt(n))))


def detectable(block_sd: float, blocks: int) -> float:
    """The smallest relative effect seen in 4 of 5 runs at one-sided 5 %: exp(2.49 s/√n) - 1."""
    return math.expm1(Z_MDE * block_sd / math.sqrt(blocks))
