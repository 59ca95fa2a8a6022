"""What a proven gain is worth outside the bench: after doubts, conditions and scenes."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

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
    Scene,
    SceneComparison,
    SceneRun,
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
    turning = _turning(doubts, windows)
    if comparison.verdict is not Verdict.BETTER or not turning:
        return comparison
    reasons = "; ".join(f"{doubt.sentence} ({doubt.remedy})" for doubt in turning)
    reason = f"{gain_of(comparison)} in this bench, but {reasons}"
    return replace(comparison, verdict=Verdict.INCONCLUSIVE, reason=reason)


def _turning(doubts: Collection[Doubt], windows: Sequence[Window]) -> list[Doubt]:
    """Those of the doubts that may turn the sign of what the windows show."""
    own = analysis.frequent([window for window in windows if window.arm == 0])
    advices = {
        doubt: doubt.advice if doubt in own else doubt.advice_on_candidate for doubt in doubts
    }
    held = [doubt for doubt, advice in advices.items() if advice is Advice.NOT_YET]
    void = sum(window.is_void for window in windows)
    return [doubt for doubt in held if not doubt.voids or void > MANY_VOID * len(windows)]


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
            doubts=found.doubts,
        )
        for condition in measured
        if condition is not None
        for found in [_seen_of(history, condition, number)]
    )


def blocks_missing(
    history: History, condition: Condition | None, number: TrialNumber, most: int
) -> int:
    """Blocks to measure before the next look at a file under a condition; 0 once it is clear.

    Without a condition: the blocks of a compromise in the bench as it is. `most` blocks are enough.
    """
    found = _seen_of(history, condition, number)
    if not found.planned:
        return analysis.FEWEST_BLOCKS
    is_clear = found.sign in (Sign.TURNS, Sign.UNKNOWN) or _gains(found.effect)
    return 0 if is_clear else max(0, min(MORE_BLOCKS, most - found.planned))


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
    doubts: tuple[Doubt, ...]


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
    windows = [window for block in blocks for window in block.windows]
    doubts, sign = analysis.frequent(windows), _sign(effect, spec.min_effect, blocks)
    if sign is Sign.HOLDS and _turning(doubts, windows):
        sign = Sign.UNKNOWN  # a gain there is as doubtful as one here would be
    return _Seen(len(blocks), len(ratios), effect, sign, doubts)


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


# ---- No more fragile than the present file: scenes of baseline and candidate, compared
#
# "Clearly worse" is conservative. Every block of the candidate must be worse than every block of
# the baseline, and by a step that a user notices. So one block of chance does not decide.

FEWEST_BLOCKS = 2
WORSE_BY_SHARE = 0.1  # of the requests
WORSE_BY_S = 1.0
WORSE_BY_MB = 5.0  # for each 10 000 requests
WORSE_BY_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure of a run, in words, and from when on a higher one is worse than another.

    `unsure` is by how much one run may be wrong.
    """

    of: Callable[[SceneRun], float | None]
    words: Callable[[float, SceneRun], str]
    worse_from: Callable[[float], float]
    unsure: Callable[[SceneRun], float] = lambda run: 0.0


def _growth_words(value: float, run: SceneRun) -> str:
    unsure = run.growth_unsure_mb_per_10k
    said = f"memory grows by {max(0.0, value):.1f} MB"
    said += f" (give or take {unsure:.1f})" if unsure else ""
    left = run.requests_left
    return f"{said}, and is full after {left:,} more requests" if left is not None else said


def _times(by: float) -> Callable[[float], float]:
    return lambda value: max(value + by, WORSE_BY_FACTOR * value)


_HURT = _Figure(
    lambda run: run.hurt,
    lambda value, run: (
        f"{100 * value:.0f} % of the requests fail or wait longer than {run.limit_s or 1:g} s"
    ),
    lambda value: value + WORSE_BY_SHARE,
)
_BACK = _Figure(
    lambda run: run.back_to_normal_s,
    lambda value, _: f"normal again after {value:.1f} s",
    _times(WORSE_BY_S),
)
_SLOTS = _Figure(
    lambda run: run.slots_back_s,
    lambda value, _: f"all workers are back after {value:.1f} s",
    _times(WORSE_BY_S),
)
_GAP = _Figure(
    lambda run: run.longest_gap_s,
    lambda value, _: f"the longest time without an answer is {value:.1f} s",
    _times(WORSE_BY_S),
)
_GROWTH = _Figure(
    lambda run: run.growth_mb_per_10k,
    lambda value, run: _growth_words(value, run),
    _times(WORSE_BY_MB),
    lambda run: run.growth_unsure_mb_per_10k or 0.0,
)
_FIGURES = {
    Scene.HUNG_WORKER: (_HURT, _BACK),
    Scene.KILLED_WORKER: (_HURT, _SLOTS),
    Scene.OUT_OF_MEMORY: (_HURT, _BACK),
    Scene.RELOAD: (_HURT, _GAP),
    Scene.OVERLOAD: (_HURT, _BACK),
    Scene.SLOW_CLIENTS: (_HURT,),
    Scene.GROWTH: (_GROWTH,),
}


def compare_scenes(
    blocks: Iterable[Measurement], accept: Collection[Scene] = ()
) -> tuple[SceneComparison, ...]:
    """Arm 0 (baseline) against arm 1 (candidate) in each scene that was played."""
    runs = [run for block in blocks if block.result for run in block.result.scene_runs]
    return tuple(
        _compared(scene, [run for run in runs if run.scene is scene], scene in accept)
        for scene in dict.fromkeys(run.scene for run in runs)
    )


def _compared(scene: Scene, runs: Sequence[SceneRun], is_accepted: bool) -> SceneComparison:
    arms = [[run for run in runs if run.arm == arm and not run.note] for arm in (0, 1)]
    if not all(arms):
        why = next((run.note for run in runs if run.note), "one of the files was not played")
        return SceneComparison(
            scene=scene,
            baseline=_words(scene, arms[0]),
            candidate=_words(scene, arms[1]),
            is_worse=False,
            sentence=f"{scene.sentence}: not compared, because {why}",
            remedy=scene.remedy,
        )
    worse = [figure for figure in _FIGURES[scene] if _is_worse(figure, *arms)]
    shown = (worse or _FIGURES[scene])[:1]
    baseline, candidate = (_said(shown, arm) for arm in arms)
    return SceneComparison(
        scene=scene,
        baseline=_words(scene, arms[0]),
        candidate=_words(scene, arms[1]),
        is_worse=bool(worse),
        is_accepted=is_accepted,
        sentence=f"{scene.sentence}: {baseline}; with the candidate {candidate}",
        remedy=scene.remedy,
    )


def _is_worse(figure: _Figure, baseline: Sequence[SceneRun], candidate: Sequence[SceneRun]) -> bool:
    before = [value + unsure for value, unsure in _readings(figure, baseline)]
    after = [value - unsure for value, unsure in _readings(figure, candidate)]
    if min(len(before), len(after)) < FEWEST_BLOCKS:
        return False
    return min(after) >= figure.worse_from(max(0.0, *before))


def _readings(figure: _Figure, runs: Sequence[SceneRun]) -> list[tuple[float, float]]:
    return [(value, figure.unsure(run)) for run in runs if (value := figure.of(run)) is not None]


def _words(scene: Scene, runs: Sequence[SceneRun]) -> str:
    return _said(_FIGURES[scene], runs) or "not played"


def _said(figures: Sequence[_Figure], runs: Sequence[SceneRun]) -> str:
    """The medians over the blocks."""
    found = [(figure, readings) for figure in figures if (readings := _readings(figure, runs))]
    return "; ".join(
        figure.words(median(value for value, _ in readings), runs[0]) for figure, readings in found
    )
