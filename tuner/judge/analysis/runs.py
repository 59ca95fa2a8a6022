"""A list of measured numbers: centre, outliers, and the smallest difference they can resolve.

All sums are on logs: benchmark noise is a factor. No value is dropped. An outlier is named, tested
against a log-normal distribution, and stays in.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median, stdev
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from tuner.judge.analysis.estimating import (
    Z_MDE,
    Estimate,
    counts_of_sums,
    estimate,
    hodges_lehmann,
    student_quantile,
    tail_of,
)

# ---- Whether values change over the order of the runs: a warm-up, a drift, a jump

_EXACT_UP_TO_RUNS = 60  # runs; beyond it the normal approximation is as good


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Whether the values change over the order of the runs (Mann and Kendall; Pettitt for a jump).

    `agreement` is the share of pairs in which the later run is higher, less those in which it is
    lower, -1..1; `needed` is how far from 0 it must be for chance to be ruled out at 5 %, None
    where so few runs can never rule it out. `jump_after` is the run behind the likeliest jump.
    """

    agreement: float
    p: float
    needed: float | None
    jump_after: int
    jump_p: float
    first_is: Literal["highest", "lowest"] | None  # of all runs


def trend_of(logs: Sequence[float]) -> Trend:
    """The trend of at least two runs in their order."""
    signs = np.sign(np.subtract.outer(logs, logs)).astype(int)  # [later, earlier]
    n, score = len(logs), int(np.tril(signs).sum())
    jump, jump_p = _jump(signs)
    return Trend(
        agreement=score / math.comb(n, 2),
        p=_kendall_p(abs(score), n),
        needed=_kendall_needed(n),
        jump_after=jump,
        jump_p=jump_p,
        first_is=_place_of_first(logs),
    )


def _place_of_first(logs: Sequence[float]) -> Literal["highest", "lowest"] | None:
    first, others = logs[0], logs[1:]
    if len(others) < 2:
        return None
    return "highest" if first > max(others) else "lowest" if first < min(others) else None


def _kendall_p(score: float, n: int) -> float:
    """Two-sided probability of a score of Mann and Kendall at least that far from 0."""
    if n > _EXACT_UP_TO_RUNS:
        spread = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
        return min(1.0, 2 * float(special.ndtr(-max(0.0, score - 1) / spread)))
    counts = _inversion_counts(n)
    pairs = len(counts) - 1
    lower = math.floor((pairs - score) / 2)  # inversions that make the score, or a further one
    return min(1.0, 2 * sum(counts[: lower + 1]) / sum(counts))


def _kendall_needed(n: int) -> float | None:
    """Agreement beyond which chance is ruled out at 5 %; None where all pairs are too few."""
    pairs = n * (n - 1) // 2
    scores = range(pairs % 2, pairs + 1, 2)
    return next((s / pairs for s in scores if _kendall_p(s, n) <= _LEVEL), None)


@cache
def _inversion_counts(n: int) -> tuple[int, ...]:
    """How many orders of n values have each number of pairs out of order."""
    return counts_of_sums([range(size) for size in range(2, n + 1)])


def _jump(signs: npt.NDArray[np.int_]) -> tuple[int, float]:
    """The run behind the likeliest jump, and its probability by chance (Pettitt 1979).

    `signs[i, j]` is that of run i less run j. Across a cut, the score counts the pairs in which the
    later run is higher, less those in which it is lower.
    """
    n = len(signs)
    scores = np.abs(np.cumsum(signs.sum(axis=0))[:-1])
    p = 2 * math.exp(-6 * int(scores.max()) ** 2 / (n**3 + n**2))
    return 1 + int(scores.argmax()), min(1.0, p)


# ---- Centre, outliers, and the differences that they resolve

FEWEST_RUNS = 2
MOST_RUNS = 2_000
"""More values would be single requests, not runs. The work grows with the number of pairs."""

TARGETS = (0.02, 0.05, 0.10)
"""Effects for which the needed runs are stated."""

FAR = 3.5
"""Modified z score above which a value is far (Iglewicz and Hoaglin 1993)."""

_MAD_TO_SD = 1.4826
_MEAN_AD_TO_SD = 1.2533
_LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class FarValue:
    """A value far from the others: its place from 1, and its distance in robust deviations."""

    run: int
    value: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outliers:
    """Which values lie far, and whether even a log-normal distribution would not have them.

    `centre_without` is what leaving them out would give, in the unit of the values; None where
    nothing lies far.
    """

    far: tuple[FarValue, ...]
    beyond_skew: int  # how many are more than a log-normal distribution explains
    centre_without: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """Runs of each of two configurations that resolve a relative difference of `effect`.

    One-sided 5 %, power 80 %. `low` and `high` are the runs for both ends of the 95 % interval of
    the spread: a few runs estimate a spread badly.
    """

    effect: float
    runs: int
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Figures of repeated runs of one configuration. Spreads are relative: 0.05 is 5 %."""

    count: int
    centre: float
    ci_low: float
    ci_high: float
    mean: float
    cv: float  # standard deviation over mean
    robust_cv: float  # from the median absolute deviation
    resolves: float  # smallest difference to as many runs of something else that would be seen
    outliers: Outliers
    trend: Trend
    needed: tuple[Needed, ...]


def analyse(values: Sequence[float]) -> Runs:
    """The figures of repeated runs of one configuration.

    Raises `ValueError` for fewer than `FEWEST_RUNS` values, for more than `MOST_RUNS`, and for
    one that is not above 0.
    """
    logs = logs_of(values)
    found, spread = estimate(logs), stdev(logs)
    return Runs(
        count=len(values),
        centre=math.exp(found.value),
        ci_low=math.exp(found.low),
        ci_high=math.exp(min(found.high, 700.0)),
        mean=fmean(values),
        cv=stdev(values) / fmean(values),
        robust_cv=math.expm1(_scale(logs)),
        resolves=math.expm1(Z_MDE * spread * math.sqrt(2 / len(values))),
        outliers=_outliers(values, logs),
        trend=trend_of(logs),
        needed=tuple(_needed(spread, len(values), effect) for effect in TARGETS),
    )


def runs_for(log_sd: float, effect: float) -> int:
    """Runs of each of two configurations that resolve a relative difference, unpaired.

    2 (2.49 s / ln(1 + effect))², and 0.7 for the spread being estimated; never below 2.
    """
    return max(2, math.ceil(2 * (Z_MDE * log_sd / math.log1p(effect)) ** 2 + 0.7))


def logs_of(values: Sequence[float]) -> list[float]:
    """Logs of the runs of one configuration. Raises `ValueError` where they cannot be used."""
    if len(values) < FEWEST_RUNS:
        raise ValueError(f"{len(values)} runs; at least {FEWEST_RUNS} are needed")
    if len(values) > MOST_RUNS:
        raise ValueError(f"{len(values)} runs; at most {MOST_RUNS} can be looked at")
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("a run is a number above 0")
    return [math.log(value) for value in values]


def _scale(values: Sequence[float]) -> float:
    """The standard deviation from absolute deviations; 0 only if all values are equal."""
    middle = median(values)
    off = [abs(value - middle) for value in values]
    return _MAD_TO_SD * median(off) or _MEAN_AD_TO_SD * fmean(off)


def _outliers(values: Sequence[float], logs: Sequence[float]) -> Outliers:
    middle, scale = median(values), _scale(values)
    scores = [(value - middle) / scale if scale else 0.0 for value in values]
    far = tuple(
        FarValue(run=run, value=value, score=score)
        for run, (value, score) in enumerate(zip(values, scores, strict=True), 1)
        if abs(score) > FAR
    )
    runs = {value.run for value in far}
    rest = [log for run, log in enumerate(logs, 1) if run not in runs]
    return Outliers(
        far=far,
        beyond_skew=_beyond_normal(logs, len(far)),
        centre_without=math.exp(hodges_lehmann(rest)) if far and rest else None,
    )


def _beyond_normal(logs: Sequence[float], most: int) -> int:
    """How many of the `most` extreme values a normal distribution does not explain.

    The generalised extreme studentised deviate test at 5 % (Rosner 1983): looking at several at
    once, so that two far values do not hide each other in the spread that they make.
    """
    rest, beyond = list(logs), 0
    for removed in range(1, most + 1):
        n = len(rest)
        if n < 3 or stdev(rest) == 0:
            break
        middle = fmean(rest)
        worst = max(rest, key=lambda value: abs(value - middle))
        t = student_quantile(n - 2, 1 - _LEVEL / n)
        critical = (n - 1) * t / math.sqrt((n - 2 + t * t) * n)
        if abs(worst - middle) / stdev(rest) > critical:
            beyond = removed
        rest.remove(worst)
    return beyond


def _needed(spread: float, count: int, effect: float) -> Needed:
    degrees = count - 1
    low = spread * math.sqrt(degrees / float(special.chdtri(degrees, _LEVEL / 2)))
    high = spread * math.sqrt(degrees / float(special.chdtri(degrees, 1 - _LEVEL / 2)))
    return Needed(
        effect=effect,
        runs=runs_for(spread, effect),
        low=runs_for(low, effect),
        high=runs_for(high, effect),
    )


# ---- Two unpaired groups of runs: the difference of the second one to the first

_EXACT_UP_TO_PAIRS = 2_500  # pairs; beyond it the normal approximation is as good


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
    if ours * theirs <= _EXACT_UP_TO_PAIRS:
        return tail_of(_rank_sum_counts(ours, theirs), 0.95)
    return int(ours * theirs / 2 - 1.96 * _rank_sum_sd(ours, theirs))


def _p_of_shift(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Two-sided rank-sum test; ties count half."""
    pairs = len(ours) * len(theirs)
    score = sum(((a > b) - (a < b) + 1) / 2 for a in ours for b in theirs)
    lower = min(score, pairs - score)
    if pairs > _EXACT_UP_TO_PAIRS:
        z = (lower + 0.5 - pairs / 2) / _rank_sum_sd(len(ours), len(theirs))
        return min(1.0, 2 * float(special.ndtr(z)))
    counts = _rank_sum_counts(len(ours), len(theirs))
    return min(1.0, 2 * sum(counts[: math.floor(lower) + 1]) / sum(counts))


def _rank_sum_sd(ours: int, theirs: int) -> float:
    return math.sqrt(ours * theirs * (ours + theirs + 1) / 12)
