"""Many results of the same kind to the figures of a table, each with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from tests.benchmarks.replay import intervals
from tests.benchmarks.replay.intervals import Figure
from tests.benchmarks.replay.scoring import Result

NEAR = math.log(1.02)
"""A shipped file whose regret is at most this is near the best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the jobs of one group came to; None where no job has such a figure.

    Regrets, errors and biases are log ratios, shares 0..1. `failed` jobs ship the user's file and
    count in everything else.
    """

    jobs: int
    failed: int
    regret: Figure  # median
    regret_p90: Figure
    regret_mean: Figure
    near: Figure
    claims: Figure
    worse: Figure
    breaks: Figure  # what was shipped misses a bound, or is slower at the 95th percentile
    coverage: Figure | None
    bias: Figure | None  # mean, of claims
    nulls_kept: Figure | None
    reals_kept: Figure | None
    exploration: float  # mean
    selection: float  # mean
    trials: float  # median, as everything below
    crashes: float  # mean
    minutes: float
    blocks: dict[str, float]
    cpu_s: float


def summary(results: Sequence[Result]) -> Summary:
    """The figures of one group. Raises `ValueError` for no results."""
    n = len(results)
    regrets = [result.regret for result in results]
    covered = [result.is_covered for result in results if result.is_covered is not None]
    biases = [bias for r in results if r.is_claim and (bias := r.bias) is not None]
    phases = dict.fromkeys(phase for result in results for phase in result.blocks)
    return Summary(
        jobs=n,
        failed=sum(bool(result.failure) for result in results),
        regret=intervals.bootstrap(regrets, intervals.median),
        regret_p90=intervals.bootstrap(regrets, intervals.ninetieth),
        regret_mean=intervals.bootstrap(regrets, intervals.mean),
        near=intervals.share(sum(regret <= NEAR for regret in regrets), n),
        claims=intervals.share(sum(result.is_claim for result in results), n),
        worse=intervals.share(sum(result.is_worse for result in results), n),
        breaks=intervals.share(sum(not result.keeps_bounds for result in results), n),
        coverage=intervals.share(sum(covered), len(covered)) if covered else None,
        bias=intervals.bootstrap(biases, intervals.mean) if biases else None,
        nulls_kept=_kept([(r.nulls_kept, r.nulls_seen) for r in results]),
        reals_kept=_kept([(r.reals_kept, r.reals_seen) for r in results]),
        exploration=fmean(result.exploration_error for result in results),
        selection=fmean(result.selection_error for result in results),
        trials=median(result.trials for result in results),
        crashes=fmean(result.crashes for result in results),
        minutes=median(result.measured_s / 60 for result in results),
        blocks={p: median(result.blocks.get(p, 0) for result in results) for p in phases},
        cpu_s=median(result.cpu_s for result in results),
    )


def _kept(counts: Sequence[tuple[int, int]]) -> Figure | None:
    """Share of the factors seen that were kept, over all jobs."""
    kept, seen = (sum(column) for column in zip(*counts, strict=True))
    return intervals.share(kept, seen) if seen else None
