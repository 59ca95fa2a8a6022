"""From fresh blocks to effects, verdicts and standings, with the doubts of each file."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import covariance, fmean, median, stdev, variance

from scipy import special

from tuner.judge import objective
from tuner.judge.analysis.estimating import (
    FEWEST_BLOCKS,
    LARGEST_LOG,
    Estimate,
    bounded,
    detectable,
    estimate,
    p_better,
)
from tuner.judge.analysis.sequential import Confirmation
from tuner.nouns import wording
from tuner.nouns.model import (
    BASELINE,
    Comparison,
    Doubt,
    Effect,
    Measurement,
    Metric,
    Standing,
    TrialNumber,
    Verdict,
    Window,
)

# ---- From doubts of single windows to doubts of a file: the frequent ones

OFTEN = 0.1
"""Least share of windows for a doubt about the file; a doubt that voids always counts."""

UNSTABLE_RANGE = 0.3
"""Range of the starts of one file over their mean, above which they are unstable."""

FEWEST_STARTS = 4
"""Fewest starts to judge a range."""

_OWN_SHARE = 0.4
"""Least share of a file in the variance of its ratios to the others; below, it is their scatter."""

_WIDER = 2.0  # standard deviations of the baseline, beyond which a candidate's are wider
_WIDER_LEVEL = 0.001  # ... by an F-test of that level
_WIDE_SD = 0.05  # ... and wide enough to matter


@dataclass(frozen=True, slots=True)
class _Start:
    """Logs of the throughput of one start, and of the other files' in the same block."""

    own: float
    others: float | None


def frequent(windows: Sequence[Window]) -> tuple[Doubt, ...]:
    """Doubts of at least a tenth of the windows, and every one that voids, in the table's order."""
    often = max(1, math.ceil(OFTEN * len(windows)))
    counts = {doubt: sum(doubt in window.doubts for window in windows) for doubt in Doubt}
    return tuple(doubt for doubt, count in counts.items() if count >= (1 if doubt.voids else often))


def unstable_arms(blocks: Sequence[Measurement]) -> set[TrialNumber]:
    """Trials whose starts differ so much that one deployment may be far from the next.

    A host that drifts moves all files of a block alike: where a block has several, a file must
    stand out both by itself and against the others.
    """
    starts = _starts(blocks)
    return {
        number for number, own in starts.items() if _is_wide(own) or _is_wider(own, starts, number)
    }


def _starts(blocks: Sequence[Measurement]) -> dict[TrialNumber, list[_Start]]:
    found: dict[TrialNumber, list[_Start]] = defaultdict(list)
    for block in blocks:
        windows = objective.at_equal_speed(block.counted)
        levels = [
            (number, level)
            for arm, number in enumerate(block.arms)
            if (level := _level(windows, arm)) is not None
        ]
        for number, level in levels:
            others = [other for who, other in levels if who != number]
            found[number].append(_Start(level, median(others) if others else None))
    return found


def _level(windows: Sequence[Window], arm: int) -> float | None:
    return objective.log_level(objective.of_arm(windows, arm), Metric.THROUGHPUT_RPS)


def _is_wide(starts: Sequence[_Start]) -> bool:
    compared = [(start.own, start.others) for start in starts if start.others is not None]
    if not compared:
        return _relative_range([start.own for start in starts]) > UNSTABLE_RANGE
    own = [ours for ours, _ in compared]
    ratios = [ours - theirs for ours, theirs in compared]
    wide = all(_relative_range(logs) > UNSTABLE_RANGE for logs in (own, ratios))
    return wide and _own_share(own, ratios) >= _OWN_SHARE


def _own_share(own: Sequence[float], ratios: Sequence[float]) -> float:
    """Which share of the variance of `ratios` comes from the file itself; 0.5 where both are equal.

    A host that drifts adds the same to both files, and so nothing to this covariance (Grubbs 1948,
    "On estimating precision of measuring instruments").
    """
    return covariance(own, ratios) / variance(ratios)


def _relative_range(logs: Sequence[float]) -> float:
    """Largest less smallest over the mean; 0 where they are too few to say."""
    if len(logs) < FEWEST_STARTS:
        return 0.0
    values = [math.exp(log - logs[0]) for log in logs]
    return (max(values) - min(values)) / fmean(values)


def _is_wider(
    starts: Sequence[_Start],
    everyone: dict[TrialNumber, list[_Start]],
    number: TrialNumber,
) -> bool:
    """Whether a candidate's starts scatter more than twice as much as the baseline's."""
    baseline = everyone.get(TrialNumber(0), [])
    if number == 0 or min(len(starts), len(baseline)) < FEWEST_STARTS:
        return False
    own, reference = stdev(s.own for s in starts), stdev(s.own for s in baseline)
    if own < _WIDE_SD or own <= _WIDER * reference:
        return False
    if reference == 0:
        return True
    p = special.fdtrc(len(starts) - 1, len(baseline) - 1, (own / reference) ** 2)
    return bool(p < _WIDER_LEVEL)


# ---- Fresh blocks' log ratios to an effect and a verdict


def effect_of(ratios: Sequence[float], metric: Metric) -> Effect:
    """Log ratios as a relative change of the metric with its 95 % interval."""
    return as_effect(estimate(ratios), metric)


def as_effect(found: Estimate, metric: Metric, sign: int = 1) -> Effect:
    """A log ratio as a relative change of the metric; with `sign`, a gain that has that sign."""
    low, high = sorted((sign * found.low, sign * found.high))
    return Effect(
        metric=metric,
        estimate=math.expm1(sign * found.value),
        ci_low=math.expm1(low),
        ci_high=math.expm1(min(high, LARGEST_LOG)),
    )


def compare(
    ratios: Sequence[float],
    *,
    metric: Metric,
    sign: int,
    min_effect: float,
    confirmation: Confirmation | None = None,
) -> Comparison:
    """The verdict on a candidate from fresh blocks' log(candidate / baseline).

    `sign` is +1 if more is better. `better` needs the whole 95 % interval on the good side of 0 and
    an estimate of at least `min_effect`. `no_difference` needs an interval that excludes a gain of
    `min_effect`. With too few blocks the verdict is `inconclusive`.

    The blocks were looked at once, or as `confirmation` says. Then `better` also needs a look that
    crossed its bound, and `no_difference` may also mean that a gain of `min_effect` has become too
    unlikely to go on.
    """
    n = len(ratios)
    if n < FEWEST_BLOCKS:
        return _too_few(n)
    gains = [sign * ratio for ratio in ratios]
    gain = estimate(gains) if confirmation is None else confirmation.estimate
    verdict, reason = _verdict_of(gain, min_effect)
    if confirmation is not None:
        verdict, reason = _by_looks(confirmation, min_effect, verdict, reason)
    return Comparison(
        verdict=verdict,
        effect=as_effect(gain, metric, sign),
        p_better=p_better(gains),
        mde=detectable(stdev(gains), n),
        blocks=n,
        reason=reason,
        looks=() if confirmation is None else confirmation.looks,
    )


def _too_few(blocks: int) -> Comparison:
    """The answer with too few blocks to compute an interval."""
    return Comparison(
        verdict=Verdict.INCONCLUSIVE,
        effect=None,
        p_better=None,
        mde=None,
        blocks=blocks,
        reason=f"{blocks} usable blocks; at least {FEWEST_BLOCKS} are needed",
    )


def _verdict_of(gain: Estimate, min_effect: float) -> tuple[Verdict, str]:
    """What a gain (log, signed so that more is better) amounts to, and why."""
    enough = math.log1p(min_effect)
    asked = wording.limit(min_effect)
    if gain.high < 0:
        return Verdict.WORSE, "the whole interval shows a loss"
    if gain.low > 0 and gain.value >= enough:
        return Verdict.BETTER, f"the whole interval shows a gain, the estimate at least {asked}"
    if gain.high < enough:
        return Verdict.NO_DIFFERENCE, f"the interval excludes a gain of {asked}"
    if gain.low > 0:
        return Verdict.NO_DIFFERENCE, f"there is a gain, but it is below the {asked} asked for"
    return Verdict.INCONCLUSIVE, f"the interval includes both 0 and a gain of {asked}: too noisy"


def _by_looks(
    found: Confirmation, min_effect: float, verdict: Verdict, reason: str
) -> tuple[Verdict, str]:
    """The verdict and its reason as the looks change them."""
    if verdict is Verdict.BETTER and not found.crossed:
        return Verdict.INCONCLUSIVE, "the gain did not cross the bound that its looks share"
    if verdict is Verdict.INCONCLUSIVE and found.is_futile:
        asked = wording.limit(min_effect)
        reason = f"a gain of {asked} is now too unlikely to go on measuring"
        return Verdict.NO_DIFFERENCE, reason
    return verdict, reason


# ---- Candidates in the same blocks: standings, and how many go on


def standings(
    blocks: Sequence[Measurement],
    metric: Metric,
    sign: int,
    baseline: TrialNumber = BASELINE,
) -> tuple[Standing, ...]:
    """Every candidate with usable windows in a block that also has the baseline's, best first.

    `sign` is +1 if more is better. A candidate that broke in any block is left out. An unstable one
    is ranked by its gain less one standard deviation: a deployment may hit a slow start.
    """
    broken = {block.arms[block.failure.arm] for block in blocks if block.failure is not None}
    unstable = unstable_arms(blocks)
    ranked: list[Standing] = []
    for number in sorted({number for block in blocks for number in block.arms}):
        if number in broken | {baseline}:
            continue
        ratios = objective.ratios_to_baseline(blocks, number, metric, to=baseline)
        if ratios:
            gains = [sign * ratio for ratio in ratios]
            ranked.append(_standing(number, gains, is_unstable=number in unstable))
    return tuple(sorted(ranked, key=lambda standing: standing.penalty - standing.gain))


def survivors(count: int) -> int:
    """How many of `count` go on to the next round: half of them rounded up, so at least one."""
    return (count + 1) // 2


def _standing(number: TrialNumber, gains: Sequence[float], *, is_unstable: bool) -> Standing:
    found = bounded(estimate(gains))
    return Standing(
        number=number,
        gain=found.value,
        low=found.low,
        high=found.high,
        blocks=len(gains),
        is_unstable=is_unstable,
        penalty=stdev(gains) if is_unstable and len(gains) > 1 else 0.0,
    )
