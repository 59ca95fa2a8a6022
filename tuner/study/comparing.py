"""The course of a comparison: every given file in every block, and a report at the end.

    validate → prepare → compare → done

A file that does not work is a result: it drops out, and the others are measured without it. Only
the first one, which all others are compared with, ends the job.
"""

from statistics import fmean

from tuner import objective, report
from tuner.model import (
    BASELINE,
    Fail,
    Failure,
    History,
    Measurement,
    MeasurementState,
    Origin,
    Outcome,
    Phase,
    Settle,
    Step,
    Succeed,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.study import planning


def files(history: History) -> tuple[Trial, ...]:
    """One trial for each file, in the order in which they were given."""
    return tuple(
        Trial(
            number=TrialNumber(number),
            params={"ini": variant.name},
            origin=Origin.BASELINE if number == BASELINE else Origin.GIVEN,
            state=TrialState.RUNNING,
        )
        for number, variant in enumerate(history.job.spec.variants)
    )


def compare(history: History) -> Step | None:
    """Settle files that broke, measure until every other has its blocks, then report."""
    blocks = history.blocks(Phase.COMPARE)
    for block in blocks:
        broken = _broken(block)
        if broken is None:
            continue
        number, failure = broken
        if number == BASELINE:
            return Fail(failure=failure)
        if history.trial(number).outcome is None:
            return Settle(number=number, outcome=_infeasible(failure))
    if any(block.is_open for block in blocks):
        return None
    complete = [block for block in blocks if block.state is MeasurementState.COMPLETE]
    missing = history.job.spec.budget.compare_blocks - len(complete)
    if missing > 0:
        arms = _working(history)
        # A file that does not start takes the others down in every block planned with it.
        count = missing if complete or len(arms) == 1 else 1
        return planning.blocks(history, Phase.COMPARE, arms, count)
    for number in _working(history):
        if history.trial(number).outcome is None:
            return Settle(number=number, outcome=_outcome(history, number, complete))
    return Succeed(report=report.build(history))


def _broken(block: Measurement) -> tuple[TrialNumber, Failure] | None:
    """The file that ended a block, and why."""
    failure = block.failure
    return None if failure is None else (block.arms[failure.arm], failure)


def _working(history: History) -> tuple[TrialNumber, ...]:
    """The files that have not dropped out."""
    return tuple(
        trial.number for trial in history.trials if trial.state is not TrialState.INFEASIBLE
    )


def _infeasible(failure: Failure) -> Outcome:
    return Outcome(state=TrialState.INFEASIBLE, score=None, constraints={}, failure=failure)


def _outcome(history: History, number: TrialNumber, blocks: list[Measurement]) -> Outcome:
    """The mean log ratio to the first file over the blocks that have both."""
    chosen = history.job.spec.objective
    ratios = []
    for block in blocks:
        if number in block.arms:
            pair = (block.arms.index(number), block.arms.index(BASELINE))
            ours, theirs = (
                objective.log_level(objective.usable(block.windows, arm), chosen.metric)
                for arm in pair
            )
            if ours is not None and theirs is not None:
                ratios.append(ours - theirs)
    if not ratios:
        return Outcome(state=TrialState.FAILED, score=None, constraints={})
    score = chosen.sign * fmean(ratios)
    return Outcome(state=TrialState.COMPLETE, score=score, constraints={})
