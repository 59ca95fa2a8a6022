"""Candidates in the same blocks: standings, and how many go on."""

from collections.abc import Sequence
from statistics import stdev

from tuner.judge import objective
from tuner.judge.analysis.doubting import unstable_arms
from tuner.judge.analysis.estimating import bounded, estimate
from tuner.nouns.model import BASELINE, Measurement, Metric, Standing, TrialNumber


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
