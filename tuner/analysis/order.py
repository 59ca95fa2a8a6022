"""Whether runs move over the order in which they were made: a warm-up, a drift, a jump."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Literal

from scipy import special

from tuner.analysis.estimating import counts_of_sums

_LEVEL = 0.05
_EXACT_UP_TO = 60  # runs; beyond it the normal approximation is as good


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Whether the values move over the order of the runs (Mann and Kendall; Pettitt for a jump).

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
    pairs = [_sign(later - earlier) for earlier, later in combinations(logs, 2)]
    jump, jump_p = _jump(logs)
    return Trend(
        agreement=sum(pairs) / len(pairs),
        p=_kendall_p(abs(sum(pairs)), len(logs)),
        needed=_kendall_needed(len(logs)),
        jump_after=jump,
        jump_p=jump_p,
        first_is=_place_of_first(logs),
    )


def _place_of_first(logs: Sequence[float]) -> Literal["highest", "lowest"] | None:
    first, others = logs[0], logs[1:]
    if len(others) < 2:
        return None
    return "highest" if first > max(others) else "lowest" if first < min(others) else None


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


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


def _jump(logs: Sequence[float]) -> tuple[int, float]:
    """The run behind the likeliest jump, and its probability by chance (Pettitt 1979)."""
    n, score, scores = len(logs), 0, []
    for run in logs[:-1]:
        # pairs across the cut in which the later run is higher, less those in which it is lower
        score += sum(_sign(other - run) for other in logs)
        scores.append(abs(score))
    largest = max(scores)
    p = min(1.0, 2 * math.exp(-6 * largest**2 / (n**3 + n**2)))
    return 1 + scores.index(largest), p
