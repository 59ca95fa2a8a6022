"""Whether a recommended file still holds for a new image: blocks of (own, recommended) → yes or no.

A verdict asks: is it better? A release need not show that again, so the gate asks: is it worse by
more than a margin (non-inferiority)? If the blocks cannot tell, the answer is `inconclusive`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from tuner.judge import analysis, objective
from tuner.judge.recommendation import verdict
from tuner.judge.recommendation.verdict import ERRORS_MARGIN, P95_MARGIN, Outcome
from tuner.nouns import wording
from tuner.nouns.model import ArmReport, Effect, Failure, Metric
from tuner.nouns.schemas import CircumstancesAnswer, ReportAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """The largest losses that still pass, as shares: 0.02 is 2 %."""

    effect: float = 0.02
    p95: float = P95_MARGIN
    errors: float = ERRORS_MARGIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The answer of a gate. `effect` is None where there was nothing to compare, or too little."""

    outcome: Outcome
    sentence: str
    effect: Effect | None = None
    blocks: int = 0


Finding = tuple[Outcome, str]
"""An outcome and its reason."""


def judge(
    report: ReportAnswer, asked: CircumstancesAnswer, metric: Metric, margins: Margins
) -> Judged:
    """The answer from a report on the user's own file and the recommended one, in this order.

    If both are the same file, the report has one arm and says whether that file runs, serves and
    keeps its bounds. `metric` is what the comparison measured by. It is used if the report does
    not compare the job's own objective.
    """
    new, own = report.arms[-1], report.arms[0]
    if new.failure is not None:
        return _broken("the recommended file does not run on it", new.failure, report.blocks)
    findings = list(_missed_bounds(new, own, asked))
    effect: Effect | None = None
    if len(report.arms) == 1:
        findings.append(_errors_alone(new, margins.errors))
    else:
        effect = _effect(new, asked.objective.metric) or _effect(new, metric)
        findings += [_main(effect, report.blocks, margins.effect), _errors(new, own, margins)]
        findings += _p95(new, asked, effect, margins.p95)
    worst = max((outcome for outcome, _ in findings), key=list(Outcome).index)
    reasons = [reason for outcome, reason in findings if outcome is worst]
    return Judged(outcome=worst, sentence="; ".join(reasons), effect=effect, blocks=report.blocks)


def unmeasured(failure: Failure, files: int) -> Judged:
    """The answer if even the first file, your own, was not measured to the end."""
    words = "the file does not run on it"
    if files > 1:
        words = "your own file does not run on it, so that nothing can be compared"
    return _broken(words, failure)


def _broken(words: str, failure: Failure, blocks: int = 0) -> Judged:
    sentence = f"{words}: {failure.code}: {failure.message}"
    return Judged(outcome=Outcome.DOES_NOT_HOLD, sentence=sentence, blocks=blocks)


def fitting_blocks(budget_s: float, block_s: float, *, at_most: int) -> int:
    """How many blocks fit, at least as many as an interval needs."""
    return max(analysis.FEWEST_BLOCKS, min(at_most, int(budget_s / block_s)))


def resolved_margin(block_sd: float, blocks: int) -> float:
    """The margin with which an equally good file passes in 4 of 5 runs.

    With 5 to 8 blocks it passes in 3 of 5 or slightly more: exact intervals are wider there.
    """
    degrees = blocks - 1
    errors = analysis.student_quantile(degrees, 0.95) + analysis.student_quantile(degrees, 0.60)
    return math.expm1(errors * block_sd / math.sqrt(blocks))


def needed_blocks(block_sd: float, margin: float, *, at_most: int) -> int | None:
    """The fewest blocks that resolve a margin; None if that is more than `at_most`."""
    counts = range(analysis.FEWEST_BLOCKS, at_most + 1)
    return next((n for n in counts if resolved_margin(block_sd, n) <= margin), None)


def _effect(arm: ArmReport, metric: Metric) -> Effect | None:
    return next((effect for effect in arm.effects if effect.metric is metric), None)


def _worse_by(effect: Effect) -> tuple[float, float]:
    """The ends of the interval, signed so that above 0 is worse."""
    low, high = effect.ci_low, effect.ci_high
    return (-high, -low) if effect.metric.sign > 0 else (low, high)


def _main(effect: Effect | None, blocks: int, margin: float) -> Finding:
    if effect is None:
        few = f"{blocks} usable blocks; at least {analysis.FEWEST_BLOCKS} are needed"
        return Outcome.INCONCLUSIVE, few
    asked = wording.limit(margin)
    outcome = verdict.within(margin, *_worse_by(effect))
    return outcome, {
        Outcome.HOLDS: f"the interval excludes a loss of {asked}",
        Outcome.DOES_NOT_HOLD: f"the whole interval is worse by more than {asked}",
        Outcome.INCONCLUSIVE: f"the interval includes a loss of {asked}: too few blocks, or too "
        "much noise, to tell",
    }[outcome]


def _p95(
    arm: ArmReport, asked: CircumstancesAnswer, main: Effect | None, margin: float
) -> Iterator[Finding]:
    """Nothing if the job itself bounds p95, or if the report has none."""
    found = _effect(arm, Metric.LATENCY_P95_MS)
    if found is None or found is main or Metric.LATENCY_P95_MS in asked.slo.bounds():
        return
    outcome, broken = verdict.p95_margin(*_worse_by(found), margin)
    if outcome is not Outcome.HOLDS:
        yield outcome, broken.sentence


def _errors(new: ArmReport, own: ArmReport, margins: Margins) -> Finding:
    outcome, broken = verdict.errors_margin(_failed(new), _failed(own), margins.errors)
    if outcome is Outcome.HOLDS:
        return outcome, "no more of its requests fail than of your own file's"
    return outcome, broken.sentence


def _errors_alone(arm: ArmReport, margin: float) -> Finding:
    rate = objective.failed_share(*_failed(arm))
    if rate > margin:
        return Outcome.DOES_NOT_HOLD, f"{wording.share(rate, 2)} of its requests fail"
    return Outcome.HOLDS, "it is your present file, it runs and serves: nothing to compare"


def _failed(arm: ArmReport) -> tuple[int, int]:
    """Failed and sent requests."""
    failed = sum(arm.errors_by_class.values())
    return failed, failed + arm.requests


def _missed_bounds(new: ArmReport, own: ArmReport, asked: CircumstancesAnswer) -> Iterator[Finding]:
    """The job's bounds that the file does not keep on the new image, with your own file's level."""
    for metric, bound in asked.slo.bounds().items():
        reached, reference = _level(new, metric), _level(own, metric)
        if reached is None or reference is None:
            reason = f"{metric} has a bound and no value: use more blocks or longer windows"
            yield Outcome.INCONCLUSIVE, reason
            continue
        if metric is Metric.ERROR_RATE:
            excess = objective.error_excess(bound, reached, reference)
        else:
            excess = objective.excess(metric, bound, math.log(reached), math.log(reference))
        if excess > 0:
            broken = verdict.missed(metric, excess, asked.slo, asked.own_bounds)
            levels = f"{metric} {reached:.4g}, your own file {reference:.4g}"
            yield Outcome.DOES_NOT_HOLD, f"{broken.sentence}: {levels}"


def _level(arm: ArmReport, metric: Metric) -> float | None:
    """The geometric mean over the rungs of a ladder; without a ladder, the one figure."""
    if metric is Metric.ERROR_RATE:
        return objective.failed_share(*_failed(arm))
    logs = [math.log(figure.value) for figure in arm.figures if figure.metric is metric]
    return math.exp(fmean(logs)) if logs else None
