"""Does a recommended file still hold for a new image? Blocks of (own, recommended) → yes or no.

The question is another than a verdict's: not "is it better?", which a release need not show once
more, but "is it worse by more than a margin?" (non-inferiority). What the blocks cannot tell is
neither.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from tuner import analysis
from tuner.model import Metric, RelativeBound, Slo
from tuner.recommendation.verdict import ERRORS_MARGIN, P95_MARGIN
from tuner.schemas import (
    ArmAnswer,
    CircumstancesAnswer,
    EffectAnswer,
    ErrorAnswer,
    ReportAnswer,
)

_Z_95 = 1.645  # one-sided


class Outcome(StrEnum):
    """The answer of a gate; of several findings the last one in this order counts."""

    HOLDS = "holds"
    INCONCLUSIVE = "inconclusive"
    DOES_NOT_HOLD = "does_not_hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """What the recommended file may be worse by, as shares: 0.02 is 2 %."""

    effect: float = 0.02
    p95: float = P95_MARGIN
    errors: float = ERRORS_MARGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The answer of a gate. `effect` is None where there was nothing to compare, or too little."""

    outcome: Outcome
    sentence: str
    effect: EffectAnswer | None
    blocks: int


@dataclass(frozen=True, slots=True)
class _Finding:
    outcome: Outcome
    reason: str


def judge(
    report: ReportAnswer, asked: CircumstancesAnswer, metric: Metric, margins: Margins
) -> Judged:
    """The answer from a report on the user's own file and the recommended one, in this order.

    A report on one file alone says whether that runs, serves and keeps its bounds: then own and
    recommended file are the same. `metric` is what the measurement went by; it stands in where
    the job's own objective is none that reports compare.
    """
    new, own = report.arms[-1], report.arms[0]
    if new.error is not None:
        broke = f"the recommended file does not run on it: {new.error.code}: {new.error.message}"
        return Judged(
            outcome=Outcome.DOES_NOT_HOLD, sentence=broke, effect=None, blocks=report.blocks
        )
    findings = list(_missed_bounds(new, own, asked.slo))
    effect: EffectAnswer | None = None
    if len(report.arms) == 1:
        findings.append(_errors_alone(new, margins.errors))
    else:
        effect = _effect(new, asked.objective.metric) or _effect(new, metric)
        findings += [_main(effect, report.blocks, margins.effect), _errors(new, own, margins)]
        findings += _p95(new, asked, effect, margins.p95)
    worst = max((finding.outcome for finding in findings), key=list(Outcome).index)
    reasons = [finding.reason for finding in findings if finding.outcome is worst]
    return Judged(outcome=worst, sentence="; ".join(reasons), effect=effect, blocks=report.blocks)


def unmeasured(error: ErrorAnswer, files: int) -> Judged:
    """The answer where not even the first file was measured to the end: that one is your own."""
    words = "the file does not run on it"
    if files > 1:
        words = "your own file does not run on it, so that nothing can be compared"
    return Judged(
        outcome=Outcome.DOES_NOT_HOLD,
        sentence=f"{words}: {error.code}: {error.message}",
        effect=None,
        blocks=0,
    )


def fitting_blocks(budget_s: float, block_s: float, *, at_most: int) -> int:
    """How many blocks fit, never fewer than an interval needs."""
    return max(analysis.FEWEST_BLOCKS, min(at_most, int(budget_s / block_s)))


def resolved_margin(block_sd: float, blocks: int) -> float:
    """The margin with which a file that is just as good passes in 4 of 5 runs.

    With 5 to 8 blocks in 3 of 5 or a little more: exact intervals of so few are wider.
    """
    degrees = blocks - 1
    errors = analysis.student_quantile(degrees, 0.95) + analysis.student_quantile(degrees, 0.60)
    return math.expm1(errors * block_sd / math.sqrt(blocks))


def needed_blocks(block_sd: float, margin: float, *, at_most: int) -> int | None:
    """The fewest blocks that resolve a margin; None where more than `at_most` would be needed."""
    counts = range(analysis.FEWEST_BLOCKS, at_most + 1)
    return next((n for n in counts if resolved_margin(block_sd, n) <= margin), None)


def _effect(arm: ArmAnswer, metric: Metric) -> EffectAnswer | None:
    return next((effect for effect in arm.effects if effect.metric is metric), None)


def _worse_by(effect: EffectAnswer) -> tuple[float, float]:
    """The ends of the interval, signed so that above 0 is worse."""
    low = -math.inf if effect.ci_low is None else effect.ci_low
    high = math.inf if effect.ci_high is None else effect.ci_high
    return (-high, -low) if effect.metric.sign > 0 else (low, high)


def _main(effect: EffectAnswer | None, blocks: int, margin: float) -> _Finding:
    if effect is None:
        few = f"{blocks} usable blocks; at least {analysis.FEWEST_BLOCKS} are needed"
        return _Finding(Outcome.INCONCLUSIVE, few)
    low, high = _worse_by(effect)
    asked = f"{100 * margin:g} %"
    if high < margin:
        return _Finding(Outcome.HOLDS, f"the interval excludes that it is worse by {asked}")
    if low > margin:
        return _Finding(Outcome.DOES_NOT_HOLD, f"the whole interval is worse by more than {asked}")
    reason = f"a loss of {asked} lies within the interval: too few blocks, or too noisy, to tell"
    return _Finding(Outcome.INCONCLUSIVE, reason)


def _p95(
    arm: ArmAnswer, asked: CircumstancesAnswer, main: EffectAnswer | None, margin: float
) -> Iterator[_Finding]:
    """Nothing where the job itself says what p95 may be, or where nobody saw one."""
    found = _effect(arm, Metric.LATENCY_P95_MS)
    if found is None or found is main or Metric.LATENCY_P95_MS in asked.slo.bounds():
        return
    low, high = _worse_by(found)
    if low > margin:
        yield _Finding(Outcome.DOES_NOT_HOLD, f"its p95 is at least {100 * low:.0f} % longer")
    elif high > margin:
        yield _Finding(Outcome.INCONCLUSIVE, f"its p95 may be up to {100 * high:.0f} % longer")


def _errors(new: ArmAnswer, own: ArmAnswer, margins: Margins) -> _Finding:
    """Whether the error rates differ by less than the margin, at the one-sided 95 % level."""
    more, wide = _error_rate(new) - _error_rate(own), 0.0
    for arm in (new, own):
        rate = _error_rate(arm)
        wide += rate * (1 - rate) / max(1, arm.requests + _failed(arm))
    wide = _Z_95 * math.sqrt(wide)
    figures = f"{_error_rate(new):.2%} against {_error_rate(own):.2%}"
    if more - wide > margins.errors:
        reason = f"more of its requests fail than of your own file's: {figures}"
        return _Finding(Outcome.DOES_NOT_HOLD, reason)
    if more + wide > margins.errors:
        reason = f"more of its requests may fail than of your own file's: {figures}"
        return _Finding(Outcome.INCONCLUSIVE, reason)
    return _Finding(Outcome.HOLDS, "no more of its requests fail than of your own file's")


def _errors_alone(arm: ArmAnswer, margin: float) -> _Finding:
    if _error_rate(arm) > margin:
        return _Finding(Outcome.DOES_NOT_HOLD, f"{_error_rate(arm):.2%} of its requests fail")
    reason = "it is the file that you have, it runs and serves: there is nothing to compare"
    return _Finding(Outcome.HOLDS, reason)


def _failed(arm: ArmAnswer) -> int:
    return sum(arm.errors_by_class.values())


def _error_rate(arm: ArmAnswer) -> float:
    sent = arm.requests + _failed(arm)
    return _failed(arm) / sent if sent else 1.0


def _missed_bounds(new: ArmAnswer, own: ArmAnswer, slo: Slo) -> Iterator[_Finding]:
    """The job's bounds that the file does not keep on the new image, with what your own does."""
    for metric, bound in slo.bounds().items():
        reached, reference = _level(new, metric), _level(own, metric)
        if reached is None or reference is None:
            reason = f"{metric} was not seen, and has a bound: more blocks or longer windows do"
            yield _Finding(Outcome.INCONCLUSIVE, reason)
            continue
        if isinstance(bound, RelativeBound):
            limit = reference * bound.relative_to_baseline
        else:
            limit = bound
        if metric.sign * (reached - limit) < 0:
            words = "at least" if metric.sign > 0 else "at most"
            yield _Finding(
                Outcome.DOES_NOT_HOLD,
                f"it does not keep its bound: {metric} {reached:.4g} ({words} {limit:.4g}; "
                f"your own file: {reference:.4g})",
            )


def _level(arm: ArmAnswer, metric: Metric) -> float | None:
    """The geometric mean over the rungs of a ladder; the one figure where there is but one."""
    if metric is Metric.ERROR_RATE:
        return _error_rate(arm)
    values: Sequence[float] = [f.value for f in arm.figures if f.metric is metric]
    return math.exp(fmean(math.log(value) for value in values)) if values else None
