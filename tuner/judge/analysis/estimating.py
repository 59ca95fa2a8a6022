"""The location of a handful of values with its interval; the effects of changes made at once."""

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median, stdev

import numpy as np
import numpy.typing as npt
from scipy import special

from tuner.nouns.model import Ablation, Factor

# ---- The location of a handful of values, and its interval
#
# Distributions come from `scipy.special`: `scipy.stats` has the same ones for a second of import.

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


# ---- The effect of each of several changes, all measured at once
#
# Every run of a Plackett-Burman design (1946) has about half of the changes, so every run tells
# about every change. The effect of a change is the mean of the runs with it less the mean of the
# runs without it. Its standard error is 2 s / √runs. Leaving out one change at a time needs five
# to eight times as many runs. Each row comes with its mirror image (the fold-over), in which
# interactions of two changes cancel.

MOST_FACTORS = 23
"""Columns of the larger design."""

KEEP_EFFECT = 0.01
"""Least relative gain for which a change stays: a smaller one is not worth a line."""

KEEP_P = 0.05
"""One-sided probability of the effect by chance, below which a change stays: two-sided 0.10.

One-sided 0.10 would keep one useless change in ten wherever noise is larger than `KEEP_EFFECT`.
"""

_GENERATORS = ("++-+++---+-", "+++++-+-++--++--+-+----")
_SINGULAR = 1e-9  # of the largest eigenvalue: far above rounding, far below that of any design
_ROUNDING = 1e-6

_Array = npt.NDArray[np.float64]
Row = tuple[bool, ...]


def design(factors: int, runs: int, seed: int) -> tuple[Row, ...]:
    """Rows to run, in their order; True is the winner's value, False the user's.

    At most `runs` rows, but always one replicate: 24 rows for up to 11 factors, 48 for more. A
    replicate is a Plackett-Burman design folded over, with columns permuted anew, so that effects
    that hide in each other do so in one replicate only. Rows come shuffled, each one followed by
    its mirror image: a block of an even number of runs has every factor on in half of them, and
    no drift from block to block touches any effect. Raises `ValueError` for no factor, and for
    more than `MOST_FACTORS`.
    """
    base = _plackett_burman(_generator(factors))
    draw = random.Random(seed)  # noqa: S311  shuffles, keeps no secret
    replicates = max(1, runs // (2 * len(base)))
    return tuple(row for _ in range(replicates) for row in _replicate(base, factors, draw))


def columns(factors: int) -> int:
    """How many factors the design for `factors` can tell without a further run.

    Raises `ValueError` as `design` does.
    """
    return len(_generator(factors))


def factorial_effects(
    factors: Sequence[tuple[str, ...]],
    levels: Sequence[Sequence[bool]],
    groups: Sequence[int],
    logs: Sequence[float],
) -> Ablation | None:
    """The effect of each factor, all others and the level of each block held equal.

    `factors` names the parameters of each column. `levels[run][factor]` is what really ran,
    `groups[run]` the block that it ran in, `logs[run]` the log of the metric, signed so that more
    is better. Least squares; columns need not be balanced. A factor is left out if the runs cannot
    tell it: it never changes within a block, or only together with others. None if there are too
    few runs.
    """
    if not logs:
        return None
    _, blocks = np.unique(groups, return_inverse=True)
    x = _within(np.array(levels, dtype=np.float64), blocks)
    y = _within(np.array(logs, dtype=np.float64)[:, None], blocks)[:, 0]
    normal = x.T @ x
    inverse = np.asarray(np.linalg.pinv(normal, rcond=_SINGULAR, hermitian=True), dtype=np.float64)
    known = inverse @ normal  # the identity where the runs tell all factors, else a projection
    degrees = len(y) - (int(blocks.max()) + 1) - round(float(np.trace(known)))
    if degrees < 1:
        return None
    effects = inverse @ x.T @ y
    residuals = y - x @ effects
    sd = math.sqrt(float(residuals @ residuals) / degrees)
    errors = sd * np.sqrt(np.diag(inverse))
    told = np.abs(np.diag(known) - 1) < _ROUNDING
    found = (
        _factor(parameters, float(effect), float(se), degrees)
        for parameters, effect, se, is_told in zip(factors, effects, errors, told, strict=True)
        if is_told
    )
    return Ablation(factors=tuple(found), runs=len(logs), sd=sd)


def _generator(factors: int) -> str:
    """The first row of the smallest design for `factors`."""
    if not 1 <= factors <= MOST_FACTORS:
        raise ValueError(f"{factors} factors; from 1 to {MOST_FACTORS} can be told apart")
    return next(generator for generator in _GENERATORS if len(generator) >= factors)


def _plackett_burman(generator: str) -> list[Row]:
    """The design of that first row: all its cyclic shifts, and a row without any factor."""
    first = [sign == "+" for sign in generator]
    shifts = [tuple(first[-shift:] + first[:-shift]) for shift in range(len(first))]
    return [*shifts, (False,) * len(first)]


def _replicate(base: Sequence[Row], factors: int, draw: random.Random) -> list[Row]:
    """Some columns of the design, with every row followed by its mirror image."""
    columns = draw.sample(range(len(base[0])), factors)
    rows = [tuple(row[column] for column in columns) for row in base]
    draw.shuffle(rows)
    return [each for row in rows for each in (row, tuple(not level for level in row))]


def _within(values: _Array, blocks: npt.NDArray[np.intp]) -> _Array:
    """Values less the mean of their block, column by column. Shape (runs, columns)."""
    counts = np.bincount(blocks)
    means = [np.bincount(blocks, weights=column) / counts for column in values.T]
    return values - np.array(means).T[blocks]


def _factor(parameters: tuple[str, ...], effect: float, se: float, degrees: int) -> Factor:
    """A factor with its 95 % interval; `se` is the standard error of its effect, a log ratio.

    It is kept if its gain is worth a line and unlikely by chance.
    """
    half = student_quantile(degrees, 0.95) * se
    if se > 0:
        p = float(special.stdtr(degrees, -effect / se))
    else:
        p = 0.5 if effect == 0 else float(effect < 0)
    return Factor(
        parameters=parameters,
        effect=effect,
        low=effect - half,
        high=effect + half,
        p=p,
        is_kept=effect > math.log1p(KEEP_EFFECT) and p < KEEP_P,
    )
