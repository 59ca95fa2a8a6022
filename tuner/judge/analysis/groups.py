"""Two unpaired groups of runs: the difference of the second one to the first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median, stdev

from scipy import special

from tuner.judge.analysis.estimating import Estimate, student_quantile, tail_of
from tuner.judge.analysis.runs import logs_of, runs_for

_EXACT_UP_TO = 2_500  # pairs; beyond it the normal approximation is as good


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The second group against the first, unpaired: relative change and 95 % interval.

    `p` is the two-sided probability of a shift as large between equal groups; `runs` what each
    group needs to resolve the change that was estimated, None where that is practically none.
    """

    estimate: float
    ci_low: float
    ci_high: float
    p: float
    runs: int | None

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return not self.ci_low <= 0 <= self.ci_high


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """The second group of runs against the first one. Raises `ValueError` as `analyse` does."""
    ours, theirs = logs_of(second), logs_of(first)
    shift = _shift(ours, theirs)
    variance = (stdev(ours) ** 2 + stdev(theirs) ** 2) / 2
    size = abs(shift.value)
    return Difference(
        estimate=math.expm1(shift.value),
        ci_low=math.expm1(shift.low),
        ci_high=math.expm1(min(shift.high, 700.0)),
        p=_p_of_shift(ours, theirs),
        runs=runs_for(math.sqrt(variance), math.expm1(size)) if size > 1e-3 else None,
    )


@cache
def _rank_sum_counts(ours: int, theirs: int) -> tuple[int, ...]:
    """How many ways to mix two groups give each number of pairs in which ours is the higher."""
    if ours == 0 or theirs == 0:
        return (1,)
    found = [0] * (ours * theirs + 1)
    for place, ways in enumerate(_rank_sum_counts(ours - 1, theirs)):
        found[place + theirs] += ways
    for place, ways in enumerate(_rank_sum_counts(ours, theirs - 1)):
        found[place] += ways
    return tuple(found)


def _shift(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Median of all pairwise differences, with the interval that inverts the rank-sum test.

    Groups too small for that (3 and 3) get Welch's interval.
    """
    pairs = sorted(a - b for a in ours for b in theirs)
    k = _pairs_outside(len(ours), len(theirs))
    if k == 0:
        low, high = _welch(ours, theirs)
        return Estimate(median(pairs), low, high)
    return Estimate(median(pairs), pairs[k - 1], pairs[len(pairs) - k])


def _welch(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    parts = [stdev(group) ** 2 / len(group) for group in (ours, theirs)]
    middle, error = fmean(ours) - fmean(theirs), math.sqrt(sum(parts))
    if error == 0:
        return middle, middle
    sizes = (len(ours), len(theirs))
    degrees = sum(parts) ** 2 / sum(p * p / (n - 1) for p, n in zip(parts, sizes, strict=True))
    half = student_quantile(degrees, 0.95) * error
    return middle - half, middle + half


def _pairs_outside(ours: int, theirs: int) -> int:
    """How many of the lowest pairwise differences lie outside of the 95 % interval."""
    if ours * theirs <= _EXACT_UP_TO:
        return tail_of(_rank_sum_counts(ours, theirs), 0.95)
    return int(ours * theirs / 2 - 1.96 * _rank_sum_sd(ours, theirs))


def _p_of_shift(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Two-sided rank-sum test; ties count half."""
    pairs = len(ours) * len(theirs)
    score = sum(((a > b) - (a < b) + 1) / 2 for a in ours for b in theirs)
    lower = min(score, pairs - score)
    if pairs > _EXACT_UP_TO:
        z = (lower + 0.5 - pairs / 2) / _rank_sum_sd(len(ours), len(theirs))
        return min(1.0, 2 * float(special.ndtr(z)))
    counts = _rank_sum_counts(len(ours), len(theirs))
    return min(1.0, 2 * sum(counts[: math.floor(lower) + 1]) / sum(counts))


def _rank_sum_sd(ours: int, theirs: int) -> float:
    return math.sqrt(ours * theirs * (ours + theirs + 1) / 12)
