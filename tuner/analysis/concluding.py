"""The looks of a confirmation to its verdict."""

from collections.abc import Sequence
from dataclasses import replace

from tuner.analysis.comparing import comparison_of, verdict_of
from tuner.analysis.sequential import Confirmation
from tuner.model import Comparison, Metric, Verdict


def concluded(
    found: Confirmation,
    ratios: Sequence[float],
    *,
    metric: Metric,
    sign: int,
    min_effect: float,
) -> Comparison:
    """The verdict of a confirmation: as that of `compare`, with the looks taken into account.

    `better` needs a look that crossed its bound; `no_difference` may also be that a gain of
    `min_effect` has become too unlikely to go on.
    """
    gain = found.estimate
    verdict, reason = verdict_of(gain, min_effect)
    asked = f"{100 * min_effect:g} %"
    if verdict is Verdict.BETTER and not found.crossed:
        verdict = Verdict.INCONCLUSIVE
        reason = "the gain did not cross the bound that its looks share"
    elif verdict is Verdict.INCONCLUSIVE and found.is_futile:
        verdict = Verdict.NO_DIFFERENCE
        reason = f"a gain of {asked} has become too unlikely to go on measuring"
    gains = [sign * ratio for ratio in ratios]
    comparison = comparison_of(gains, gain, metric, sign, verdict, reason)
    return replace(comparison, looks=found.looks)
