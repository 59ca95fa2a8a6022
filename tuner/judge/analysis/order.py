"""Whether values change over the order of the runs: a warm-up, a drift, a jump."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from tuner.judge.analysis.estimating import counts_of_sums

_LEVEL = 0.05
_EXACT_UP_TO = 60  # runs; beyond it the normal approximation is as good


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
    if n > _EXACT_UP_TO:
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
