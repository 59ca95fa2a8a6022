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
    found = estimate(ratios)
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
