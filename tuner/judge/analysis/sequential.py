"""Looks at a confirmation while it runs: when to look, when to stop, and the estimate at the end.

The upper bounds spend the chance of a false claim as the square of the share of blocks that are
there (Lan and DeMets 1983; Kim and DeMets 1987, with a power of 2). So a clear gain ends it after a
few blocks on a quiet host, and the bounds together have exactly the level asked for. A lower bound
ends a futile confirmation, and a clearly worse candidate even earlier. It makes claims only rarer,
and the upper bounds are not lowered in return: the level also holds without it (it is
"non-binding").

A confirmation that ends where its figures look best overestimates. The estimate therefore orders
all ends by stage (Armitage 1957; Tsiatis, Rosner and Mehta 1984): to end above at an early look is
more than to end above at a later one. Half of all confirmations end above the median-unbiased
value, and 2.5 % pass each end of the 95 % interval. Probabilities come from recursive integration
over the sum of the gains (Armitage, McPherson and Rowe 1969; Jennison and Turnbull 2000, ch. 19).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import fmean, stdev

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from tuner.judge.analysis.estimating import (
    FEWEST_BLOCKS,
    Estimate,
    bounded,
    estimate,
    hodges_lehmann,
    unbounded,
)
from tuner.nouns.model import Look

FIRST_LOOK = 6
"""Blocks before the first look: with fewer, a signed-rank interval of 95 % does not exist."""

CLAIM_LEVEL = 0.025
"""Probability that all looks together claim a gain where there is none."""

FUTILE_LEVEL = 0.90
"""Level of the one-sided bound: below it, a gain worth a claim is too unlikely to go on."""

_LARGEST_Z = 37.0  # a normal deviate beyond it has a probability that is no float any more
_FARTHEST = 8.0  # standard deviations, beyond which there is practically no path
_ENDS = (0.025, 0.5, 0.975)  # of the interval, with its middle
_HALVINGS = 32  # of some 15 standard deviations of one block

_Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A confirmation as far as it has come.

    `looks` ends with the look that ended it; `crossed` says that it claims a gain, `is_futile`
    that a gain worth a claim has become too unlikely to go on. `estimate` is in logs, with its
    95 % interval, and holds as if nothing came after the last of these looks.
    """

    looks: tuple[Look, ...]
    ended: bool
    crossed: bool
    is_futile: bool
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class _Going:
    """Confirmations without any drift that no look up to that of `n` blocks has ended.

    `sums` are points of the sum of their gains, in standard deviations of one block, and `masses`
    the probability that each point stands for. Both have the shape (points,).
    """

    n: int
    sums: _Array
    masses: _Array


_START = _Going(0, np.zeros(1), np.ones(1))
"""Before the first block: every sum is 0."""


def looks_of(blocks: int) -> tuple[int, ...]:
    """After how many blocks to look; the last look is at all of them, and takes a remainder."""
    return (*range(FIRST_LOOK, blocks), blocks)


@cache
def upper_bounds(looks: tuple[int, ...], level: float = CLAIM_LEVEL) -> tuple[float, ...]:
    """The upper bound of z at each look.

    By chance alone, a look at n of N blocks or one before it crosses with probability
    `level` * (n / N)². `looks` are ascending numbers of blocks, `level` is one-sided.
    """
    bounds: list[float] = []
    going = _START
    for n, following in zip(looks, (*looks[1:], math.inf), strict=True):
        root, spent = math.sqrt(n), level * (n**2 - going.n**2) / looks[-1] ** 2
        bound = _crossed_with(spent, going, n) / root
        bounds.append(bound)
        going = _step(going, n, -_FARTHEST * root, bound * root, min(n - going.n, following - n))
    return tuple(bounds)


def _crossed_with(probability: float, going: _Going, n: int) -> float:
    """The sum at `n` blocks that is passed with this probability, without any drift."""

    def excess(high: float) -> float:
        passing = special.ndtr((going.sums - high) / math.sqrt(n - going.n))
        return float(going.masses @ passing) - probability

    return float(optimize.brentq(excess, 0.0, _FARTHEST * math.sqrt(n), xtol=1e-9))


def confirm(
    gains_by_look: Sequence[Sequence[float]],
    blocks: int,
    *,
    enough: float,
    is_stopped: bool = False,
) -> Confirmation:
    """What the looks made so far say of `blocks` planned ones.

    `gains_by_look` holds for each look all gains until then (log ratios, more is better); some
    blocks may have had none. `enough` is the smallest log ratio worth a claim. It ends when z
    crosses the bound of the look, when the upper end of the one-sided 90 % interval is below
    `enough` (futile), or at the last look. Looks beyond the end are left out. `is_stopped`:
    somebody ended it after these looks, and may have seen their figures. Raises `ValueError` for
    more looks than are planned.
    """
    planned = looks_of(blocks)
    if len(gains_by_look) > len(planned):
        raise ValueError(f"{len(gains_by_look)} looks; {len(planned)} are planned")
    bounds = upper_bounds(planned)[: len(gains_by_look)]
    looks: list[Look] = []
    stages: dict[int, float] = {}  # a look without new blocks only has the lower bound
    crossed = futile = False
    gains: Sequence[float] = ()
    for gains, bound in zip(gains_by_look, bounds, strict=True):
        look = _look(gains, bound)
        looks.append(look)
        crossed = look.z >= bound
        futile = not crossed and _is_futile(gains, enough)
        if len(gains) >= FEWEST_BLOCKS:
            stages[len(gains)] = bound
        if crossed or futile:
            break
    ended = crossed or futile or len(looks) == len(planned)
    return Confirmation(
        looks=tuple(looks),
        ended=ended or is_stopped,
        crossed=crossed,
        is_futile=futile,
        estimate=_repeated(gains, looks[-1].bound)
        if is_stopped and not ended
        else _corrected(gains, stages, enough),
    )


def _look(gains: Sequence[float], bound: float) -> Look:
    found = _fixed(gains)
    return Look(
        blocks=len(gains),
        z=_deviate(gains) if len(gains) >= FEWEST_BLOCKS else 0.0,
        bound=bound,
        estimate=found.value,
        low=found.low,
        high=found.high,
    )


def _fixed(gains: Sequence[float]) -> Estimate:
    """The estimate as if there were no other looks; too few gains have no interval."""
    if len(gains) < FEWEST_BLOCKS:
        return unbounded(hodges_lehmann(gains) if gains else 0.0)
    return bounded(estimate(gains))


def _repeated(gains: Sequence[float], bound: float) -> Estimate:
    """The estimate with the interval that holds at all looks together (Jennison, Turnbull 1989).

    So it holds whoever ends the confirmation at whichever look, whatever was seen. It excludes 0
    only where the look crossed its bound.
    """
    n, found = len(gains), _fixed(gains)
    if n < FEWEST_BLOCKS:
        return found
    half = -float(special.stdtrit(n - 1, special.ndtr(-bound))) * stdev(gains) / math.sqrt(n)
    low, high = fmean(gains) - half, fmean(gains) + half
    return bounded(Estimate(found.value, min(low, found.value), max(high, found.value)))


def _deviate(gains: Sequence[float]) -> float:
    """Student's t of the gains as the normal deviate of the same one-sided probability."""
    mean, spread = fmean(gains), stdev(gains)
    if spread == 0:
        return math.copysign(_LARGEST_Z, mean) if mean else 0.0
    return _normal(mean / spread * math.sqrt(len(gains)), len(gains) - 1)


def _normal(t: float, degrees: int) -> float:
    """The normal deviate that is passed as seldom as Student's `t`."""
    tail = float(special.stdtr(degrees, -abs(t)))
    z = -float(special.ndtri(tail)) if tail > 0 else _LARGEST_Z
    return math.copysign(min(z, _LARGEST_Z), t)


def _is_futile(gains: Sequence[float], enough: float) -> bool:
    n = len(gains)
    if n < FEWEST_BLOCKS:
        return False
    return fmean(gains) + _futile_t(n) * stdev(gains) / math.sqrt(n) < enough


def _futile_t(n: int) -> float:
    return float(special.stdtrit(n - 1, FUTILE_LEVEL))


def _corrected(gains: Sequence[float], stages: Mapping[int, float], enough: float) -> Estimate:
    """The estimate, moved by what the normal theory of the looks moves its own.

    `stages` are the upper bounds of z by number of gains, the last one being the present look.
    """
    fixed, n = _fixed(gains), len(gains)
    spread = stdev(gains) if n >= FEWEST_BLOCKS else 0.0
    if len(stages) < 2 or spread == 0:
        return fixed
    z = _deviate(gains)
    found = _drifts(z, stages, enough / spread)
    if found is None:
        return fixed
    plain = (z + special.ndtri(_ENDS)) / math.sqrt(n)
    low, middle, high = (float(shift) for shift in spread * (found - plain))
    value = fixed.value + middle
    return bounded(Estimate(value, min(fixed.low + low, value), max(fixed.high + high, value)))


def _drifts(z: float, stages: Mapping[int, float], enough: float) -> _Array | None:
    """The drifts under which an end as high as `z` or higher has each probability of `_ENDS`.

    Drifts and `enough` are in standard deviations of one block. The spread at the end is taken
    for that of all looks; None where by that no confirmation would have got past an earlier one.
    """
    sizes, uppers = list(stages), list(stages.values())
    roots = np.sqrt(sizes)
    lowers = [_normal(enough * math.sqrt(n) - _futile_t(n), n - 1) for n in sizes]
    lows = np.array(lowers) * roots
    highs = np.array([*uppers[:-1], z]) * roots
    if np.any(lows[:-1] >= highs[:-1]):
        return None
    going = _still_going(sizes, lows[:-1], highs[:-1])
    low = np.full(len(_ENDS), -(max(uppers) + _FARTHEST) / roots[0])
    high = -low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = _ends_above(sizes, highs, going, middle) > _ENDS
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray((low + high) / 2)


def _still_going(sizes: Sequence[int], lows: _Array, highs: _Array) -> list[_Going]:
    """For each look but the last: the confirmations that go on, with sums from low to high."""
    found = [_START]
    for (n, following), low, high in zip(pairwise(sizes), lows, highs, strict=True):
        found.append(_step(found[-1], n, low, high, min(n - found[-1].n, following - n)))
    return found[1:]


def _step(before: _Going, n: int, low: float, high: float, blocks: float) -> _Going:
    """Those that have a sum from low to high at `n` blocks; `blocks` is the shorter of two steps.

    A density changes over the root of the blocks of the step behind it, and of the one ahead.
    """
    sums, weights = _points(low, high, math.sqrt(blocks))
    root = math.sqrt(n - before.n)
    moves = (sums[None, :] - before.sums[:, None]) / root
    return _Going(n, sums, weights * (before.masses @ _bell(moves)) / root)


def _ends_above(
    sizes: Sequence[int], highs: _Array, going: Sequence[_Going], drifts: _Array
) -> _Array:
    """The probability to end above `highs` at any look, for each drift. Shape (drifts,).

    A drift only weighs the paths without one: by exp(drift * sum - drift² n / 2).
    """
    root = math.sqrt(sizes[0])
    found = special.ndtr((drifts * sizes[0] - highs[0]) / root)
    for paths, (n, later), high in zip(going, pairwise(sizes), highs[1:], strict=True):
        tilt = np.exp(np.outer(drifts, paths.sums) - drifts[:, None] ** 2 * n / 2)
        ahead = drifts[:, None] * (later - n) + paths.sums - high
        found = found + (tilt * special.ndtr(ahead / math.sqrt(later - n))) @ paths.masses
    return np.asarray(found)


def _points(low: float, high: float, scale: float) -> tuple[_Array, _Array]:
    """Points and weights of Gauss and Legendre for what varies over `scale`, from low to high."""
    points, weights = _legendre(32 * math.ceil((20 + 1.6 * (high - low) / scale) / 32))
    half = (high - low) / 2
    return low + half * (1 + points), half * weights


@cache
def _legendre(count: int) -> tuple[_Array, _Array]:
    points, weights = np.polynomial.legendre.leggauss(count)
    return points, weights


def _bell(values: _Array) -> _Array:
    """The density of the standard normal distribution."""
    return np.asarray(np.exp(-(values**2) / 2) / math.sqrt(2 * math.pi))
