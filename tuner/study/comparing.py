"""The phase of a comparison: every given file in every pass, and a report at the end.

    validate → prepare → compare → done

A file that does not work drops out, which is a result, and the others are measured without it.
Only the first file ends the job: all others are compared with it.
"""

from collections.abc import Sequence
from itertools import chain
from statistics import fmean

from tuner import objective, report
from tuner.model import (
    BASELINE,
    Fail,
    Measurement,
    MeasurementState,
    Objective,
    Outcome,
    Phase,
    Settle,
    Step,
    Succeed,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.study.blocks import passes
from tuner.study.state import Arms, StudyState


def compare(state: StudyState) -> Step | None:
    """Settle files that broke, measure until every other has its blocks, then report."""
    history = state.history
    blocks = history.blocks(Phase.COMPARE)
    for block in blocks:
        number, failure = block.broken_trial, block.failure
        if number is None or failure is None:
            continue
        if number == BASELINE:
            return Fail(failure=failure)
        if history.trial(number).outcome is None:
            outcome = Outcome(state=TrialState.INFEASIBLE, failure=failure)
            return Settle(number=number, outcome=outcome)
    if any(block.is_open for block in blocks):
        return None
    complete = [block for block in blocks if block.state is MeasurementState.COMPLETE]
    working, ran = _working(history.trials), [block.arms for block in complete]
    missing = passes(state.spec, history.job.facts, working, ran)
    if missing:
        # A file that does not start ends every block that it is planned in.
        is_tried = {*working} <= {BASELINE}.union(*ran)
        return state.measure(list(chain(*(missing if is_tried else missing[:1]))))
    for number in working:
        if history.trial(number).outcome is None:
            outcome = _outcome(number, complete, state.spec.objective)
            return Settle(number=number, outcome=outcome)
    return Succeed(report=report.build(history))


def _working(trials: Sequence[Trial]) -> Arms:
    """The files that have not dropped out."""
    return tuple(t.number for t in trials if t.state is not TrialState.INFEASIBLE)


def _outcome(number: TrialNumber, blocks: Sequence[Measurement], main: Objective) -> Outcome:
    """The mean log ratio to the first file over the blocks that have both."""
    ratios = objective.ratios_to_baseline(blocks, number, main.metric)
    if not ratios:
        return Outcome(state=TrialState.FAILED)
    return Outcome(state=TrialState.COMPLETE, score=main.sign * fmean(ratios))
