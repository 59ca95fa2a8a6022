"""What a proven gain is worth outside the bench: after doubts, conditions and scenes."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from tuner.judge import analysis, objective
from tuner.nouns import wording
from tuner.nouns.model import (
    BASELINE,
    Advice,
    Comparison,
    Condition,
    Doubt,
    Effect,
    History,
    Measurement,
    MeasurementState,
    Phase,
    SceneComparison,
    Sign,
    Trial,
    TrialNumber,
    UnderCondition,
    Verdict,
    Window,
)

MANY_VOID = 0.1
"""Share of void windows from which their doubt counts: those that are left may be a choice."""

MORE_BLOCKS = 2
"""Blocks between two looks at a condition that is not clear yet."""


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


def depending(comparison: Comparison, conditions: Collection[UnderCondition]) -> Comparison:
    """The comparison, as one that depends if its gain may turn into a loss under a condition."""
    turning = [c for c in conditions if c.sign in (Sign.TURNS, Sign.MAY_TURN)]
    if comparison.verdict is not Verdict.BETTER or not turning:
        return comparison
    there = "; ".join(f"{c.where}: {_seen(c)}" for c in turning)
    reason = f"{gain_of(comparison)} here, but not where {there}"
    return replace(comparison, verdict=Verdict.DEPENDS, reason=reason)


def fragile(
    comparison: Comparison, scenes: Collection[SceneComparison], blocks: Sequence[Measurement]
) -> Comparison:
    """The comparison, as one of a more fragile file if a scene shows that.

    A candidate that does not get ready again after a scene is more fragile too.
    """
    worse = [f"{s.sentence} ({s.remedy})" for s in scenes if s.is_worse and not s.is_accepted]
    worse += [
        f"it did not survive a scene: {block.failure.message}"
        for block in blocks
        if block.block_options.scenes and block.failure and block.failure.arm
    ][:1]
    if comparison.verdict is not Verdict.BETTER or not worse:
        return comparison
    reason = f"{gain_of(comparison)}, but more fragile: {'; '.join(worse)}"
    return replace(comparison, verdict=Verdict.MORE_FRAGILE, reason=reason)


def conditions_seen(history: History, number: TrialNumber) -> tuple[UnderCondition, ...]:
    """What each condition showed of a file, in the order in which they were measured."""
    blocks = history.blocks(Phase.CONDITIONS)
    measured = dict.fromkeys(b.block_options.condition for b in blocks if number in b.arms)
    return tuple(
        UnderCondition(
            condition=condition,
            where=condition.sentence,
            effect=found.effect,
            blocks=found.blocks,
            sign=found.sign,
        )
        for condition in measured
        if condition is not None
        for found in [_seen_of(history, condition, number)]
    )


def blocks_missing(history: History, condition: Condition | None, number: TrialNumber) -> int:
    """Blocks to measure before the next look at a file under a condition; 0 once it is clear.

    Without a condition: the blocks of a compromise in the bench as it is.
    """
    found = _seen_of(history, condition, number)
    if not found.planned:
        return analysis.FEWEST_BLOCKS
    is_clear = found.sign in (Sign.TURNS, Sign.UNKNOWN) or _gains(found.effect)
    most = history.job.spec.budget.condition_blocks
    return 0 if is_clear else min(MORE_BLOCKS, most - found.planned)


def is_lost(history: History, condition: Condition | None, number: TrialNumber) -> bool:
    """Whether a compromise is none: it shows no gain here, or may lose under a condition."""
    found = _seen_of(history, condition, number)
    return found.sign is not Sign.HOLDS if condition else not _gains(found.effect)


def compromise(history: History, finalist: TrialNumber) -> tuple[Trial, Effect, int] | None:
    """The file beside the finalist that gains here and loses nowhere; its effect and its blocks."""
    wanted = {each.condition for each in conditions_seen(history, finalist)}
    measured = {number for block in history.blocks(Phase.CONDITIONS) for number in block.arms}
    for number in measured - {BASELINE, finalist}:
        here, elsewhere = _seen_of(history, None, number), conditions_seen(history, number)
        holds = {each.condition for each in elsewhere if each.sign is Sign.HOLDS}
        if here.effect and _gains(here.effect) and holds == wanted:
            return history.trial(number), here.effect, here.blocks
    return None


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the blocks of a file under a condition show; `planned` counts those that broke too."""

    planned: int
    blocks: int
    effect: Effect | None
    sign: Sign


def _seen_of(history: History, condition: Condition | None, number: TrialNumber) -> _Seen:
    spec, main, effect = history.job.spec, history.job.spec.objective, None
    blocks = [
        block
        for block in history.blocks(Phase.CONDITIONS)
        if block.block_options.condition is condition and number in block.arms
    ]
    ratios = [r for b in blocks if (r := objective.log_ratio(b, main.metric)) is not None]
    if len(ratios) >= analysis.FEWEST_BLOCKS:
        effect = analysis.effect_of(ratios, main.metric)
    return _Seen(len(blocks), len(ratios), effect, _sign(effect, spec.min_effect, blocks))


def _sign(effect: Effect | None, min_effect: float, blocks: Sequence[Measurement]) -> Sign:
    """A candidate that breaks is a loss; a condition that the baseline does not bear is unknown."""
    if any(b.state is MeasurementState.FAILED and b.failure and b.failure.arm for b in blocks):
        return Sign.TURNS
    if effect is None:
        return Sign.UNKNOWN
    low, middle, high = _gain(effect)
    if high < 0:
        return Sign.TURNS
    return Sign.MAY_TURN if middle < math.log1p(-min_effect) and low < 0 else Sign.HOLDS


def _gain(effect: Effect) -> tuple[float, float, float]:
    """Low end, estimate and high end as log ratios, signed so that more is better."""
    ends = sorted(
        effect.metric.sign * (math.log1p(end) if end > -1 else -math.inf)
        for end in (effect.ci_low, effect.estimate, effect.ci_high)
    )
    return ends[0], ends[1], ends[2]


def _gains(effect: Effect | None) -> bool:
    return effect is not None and _gain(effect)[0] > 0


def _seen(found: UnderCondition) -> str:
    if found.effect is None:
        return "the candidate broke"
    return f"{wording.percent(found.effect.estimate)} ({wording.confidence(found.effect)})"


def gain_of(comparison: Comparison) -> str:
    """The gain with its interval, in words."""
    effect = comparison.effect
    return wording.effect_with_interval(effect) if effect else "there is a gain"


def unmeasured(conditions: Collection[UnderCondition]) -> Iterator[str]:
    """The conditions without an answer, in sentences."""
    for found in conditions:
        if found.sign is Sign.UNKNOWN:
            yield f"it is not known whether the gain holds where {found.where}"
