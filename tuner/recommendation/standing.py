"""What a proven gain is worth outside the bench: what its doubts leave of it."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from tuner import wording
from tuner.model import Advice, Comparison, Doubt, Verdict, Window

MANY_VOID = 0.1
"""Share of void windows from which their doubt counts: those that are left may be a choice."""


def doubted(
    comparison: Comparison, doubts: Collection[Doubt], windows: Sequence[Window]
) -> Comparison:
    """The comparison, without its gain if a doubt may turn the sign; `windows` are all its own."""
    held = [doubt for doubt in doubts if doubt.advice is Advice.NOT_YET]
    void = sum(window.is_void for window in windows)
    turning = [d for d in held if not d.voids or void > MANY_VOID * len(windows)]
    if comparison.verdict is not Verdict.BETTER or not turning:
        return comparison
    reasons = "; ".join(f"{doubt.sentence} ({doubt.remedy})" for doubt in turning)
    reason = f"{gain_of(comparison)} in this bench, but {reasons}"
    return replace(comparison, verdict=Verdict.INCONCLUSIVE, reason=reason)


def gain_of(comparison: Comparison) -> str:
    """The gain with its interval, in words."""
    effect = comparison.effect
    return wording.effect_with_interval(effect) if effect else "there is a gain"
