"""The effect of each of several changes, all measured at once.

Every run of a Plackett-Burman design (1946) has about half of the changes, so every run tells about
every change. The effect of a change is the mean of the runs with it less the mean of the runs
without it. Its standard error is 2 s / √runs. Leaving out one change at a time needs five to eight
times as many runs. Each row comes with its mirror image (the fold-over), in which interactions of
two changes cancel.
"""

import math
import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from tuner.judge.analysis.estimating import student_quantile
from tuner.nouns.model import Ablation, Factor

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
