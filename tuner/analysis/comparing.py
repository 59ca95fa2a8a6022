"""Fresh blocks' log ratios to an effect and a verdict."""

import math
from collections.abc import Sequence
from statistics import stdev

from tuner.analysis.estimating import Estimate, detectable, estimate, p_better
from tuner.model import Comparison, Effect, Metric, Verdict

FEWEST_BLOCKS = 4
"""Below this there is no verdict: an interval from so few blocks is wider than any effect."""

_LARGEST_LOG = 50.0  # beyond it a ratio is no figure, and soon not storable


def effect_of(ratios: Sequence[float], metric: Metric) -> Effect:
    """Log ratios as a relative change of the metric with its 95 % interval."""
    return as_effect(estimate(ratios), metric)


def as_effect(found: Estimate, metric: Metric) -> Effect:
    """An estimated log ratio as a relative change of the metric."""
    return Effect(
        metric=metric,
        estimate=math.expm1(found.value),
        ci_low=math.expm1(found.low),
        ci_high=math.expm1(min(found.high, _LARGEST_LOG)),
    )


def compare(
    ratios: Sequence[float],
    *,
    metric: Metric,
    sign: int,
    min_effect: float,
) -> Comparison:
    """The verdict on a candidate from fresh blocks' log(candidate / baseline), looked at once.

    `sign` is +1 where more is better. `better` needs the whole 95 % interval on the good arm of
    0 and an estimate of at least `min_effect`; `no_difference` an interval that excludes a gain
    of `min_effect`; an answer that cannot be computed is `inconclusive`, never a win.
    """
    if len(ratios) < FEWEST_BLOCKS:
        return too_few(len(ratios))
    gains = [sign * ratio for ratio in ratios]
    gain = estimate(gains)
    verdict, reason = verdict_of(gain, min_effect)
    return comparison_of(gains, gain, metric, sign, verdict, reason)


def too_few(blocks: int) -> Comparison:
    """The answer where there is nothing to compute with."""
    return Comparison(
        verdict=Verdict.INCONCLUSIVE,
        effect=None,
        p_better=None,
        mde=None,
        blocks=blocks,
        reason=f"{blocks} usable blocks; at least {FEWEST_BLOCKS} are needed",
    )


def comparison_of(
    gains: Sequence[float],
    gain: Estimate,
    metric: Metric,
    sign: int,
    verdict: Verdict,
    reason: str,
) -> Comparison:
    """The noun of a verdict on gains, which are signed so that more is better."""
    low, high = sorted((sign * gain.low, sign * gain.high))
    return Comparison(
        verdict=verdict,
        effect=as_effect(Estimate(sign * gain.value, low, high), metric),
        p_better=p_better(gains),
        mde=detectable(stdev(gains), len(gains)),
        blocks=len(gains),
        reason=reason,
    )


def verdict_of(gain: Estimate, min_effect: float) -> tuple[Verdict, str]:
    """What a gain (log, signed so that more is better) amounts to, and why."""
    enough = math.log1p(min_effect)
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
