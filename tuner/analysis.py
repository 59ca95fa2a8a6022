"""Block log-ratios to effects: how large, how sure, and what is said about it.

Every number here rests on the block as the unit of replication. Nothing here ever sees a number
that helped to choose the candidate: the caller hands over fresh blocks only.

Distributions come from `scipy.special`: `scipy.stats` has the same ones for a second of import.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median, stdev

from scipy import special

from tuner.model import Calibration, Comparison, Doubt, Effect, Metric, Verdict

FEWEST_BLOCKS = 4
"""Below this there is no verdict: an interval from so few blocks is wider than any effect."""

_Z_MDE = float(special.ndtri(0.95) + special.ndtri(0.80))  # one-sided 5 %, power 80 %: 2.49
BIAS_LEVEL = 0.999


@dataclass(frozen=True, slots=True)
class Estimate:
    """A location of log ratios with its interval, all in logs."""

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
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for total, ways in enumerate(counts):
            longer[total + rank] += ways
        counts = longer
    return tuple(counts)


def signed_rank_interval(
    values: Sequence[float], level: float = 0.95
) -> tuple[float, float] | None:
    """The exact interval that inverts Wilcoxon's signed-rank test; None where n is too small.

    Holds for any symmetric distribution of the values. At level 0.95 it needs 6 of them.
    """
    averages, n = walsh_averages(values), len(values)
    tail, ways, k = (1 - level) / 2 * 2**n, 0, 0
    for count in _signed_rank_counts(n):
        if ways + count > tail:
            break
        ways += count
        k += 1
    if k == 0:
        return None
    return averages[k - 1], averages[len(averages) - k]


def t_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean; infinite for fewer than two values."""
    n = len(values)
    if n < 2:
        return -math.inf, math.inf
    half = float(special.stdtrit(n - 1, (1 + level) / 2)) * stdev(values) / math.sqrt(n)
    return fmean(values) - half, fmean(values) + half


def estimate(values: Sequence[float], level: float = 0.95) -> Estimate:
    """Hodges-Lehmann with its signed-rank interval, or with Student's where that has none."""
    low, high = signed_rank_interval(values, level) or t_interval(values, level)
    return Estimate(hodges_lehmann(values), low, high)


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
    return math.expm1(_Z_MDE * block_sd / math.sqrt(blocks))


def calibrate(
    ratios: Sequence[float],
    *,
    throughput_rps: float,
    confirm_blocks: int,
    min_effect: float,
    doubts: tuple[Doubt, ...] = (),
) -> Calibration:
    """What blocks of the baseline against itself say of this host. Needs two of them.

    The spread is taken about 0, where equal sides belong: with few blocks that is much better
    known than a spread about their own mean.
    """
    low, high = t_interval(ratios, BIAS_LEVEL)
    spread = math.sqrt(fmean(ratio**2 for ratio in ratios))
    mde = detectable(spread, confirm_blocks)
    return Calibration(
        blocks=len(ratios),
        bias=fmean(ratios),
        bias_ci_low=low,
        bias_ci_high=high,
        block_sd=spread,
        mde=mde,
        throughput_rps=throughput_rps,
        resolves_min_effect=mde <= min_effect,
        doubts=doubts,
    )


def is_biased(calibration: Calibration) -> bool:
    """Whether two equal sides came out different at the 99.9 % level."""
    return not calibration.bias_ci_low <= 0 <= calibration.bias_ci_high


def effect_of(ratios: Sequence[float], metric: Metric) -> Effect:
    """Log ratios as a relative change of the metric with its 95 % interval."""
    found = estimate(ratios)
    return Effect(
        metric=metric,
        estimate=math.expm1(found.value),
        ci_low=math.expm1(found.low),
        ci_high=math.expm1(min(found.high, 50.0)),
    )


def compare(
    ratios: Sequence[float],
    *,
    metric: Metric,
    sign: int,
    min_effect: float,
) -> Comparison:
    """The verdict on a candidate from fresh blocks' log(candidate / baseline).

    `sign` is +1 where more is better. `better` needs the whole 95 % interval on the good side of
    0 and an estimate of at least `min_effect`; `no_difference` an interval that excludes a gain
    of `min_effect`; an answer that cannot be computed is `inconclusive`, never a win.
    """
    if len(ratios) < FEWEST_BLOCKS:
        return Comparison(
            verdict=Verdict.INCONCLUSIVE,
            effect=None,
            p_better=None,
            mde=None,
            blocks=len(ratios),
            reason=f"{len(ratios)} usable blocks; at least {FEWEST_BLOCKS} are needed",
        )
    gains = [sign * ratio for ratio in ratios]
    gain = estimate(gains)
    verdict, reason = _verdict(gain, math.log1p(min_effect), min_effect)
    return Comparison(
        verdict=verdict,
        effect=effect_of(ratios, metric),
        p_better=p_better(gains),
        mde=detectable(stdev(gains), len(gains)),
        blocks=len(ratios),
        reason=reason,
    )


def _verdict(gain: Estimate, enough: float, min_effect: float) -> tuple[Verdict, str]:
    asked = f"{100 * min_effect:g} %"
    if gain.high < 0:
        return Verdict.WORSE, "the whole interval is on the wrong side of 0"
    if gain.low > 0 and gain.value >= enough:
        return Verdict.BETTER, f"the whole interval is above 0 and the gain is at least {asked}"
    if gain.high < enough:
        return Verdict.NO_DIFFERENCE, f"the interval excludes a gain of {asked}"
    if gain.low > 0:
        return Verdict.NO_DIFFERENCE, f"there is a gain, but one below the {asked} asked for"
    return Verdict.INCONCLUSIVE, f"the interval holds both 0 and a gain of {asked}: too noisy"
