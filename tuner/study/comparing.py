"""The phase of a comparison: every given file in every pass, and a report at the end.

    validate → prepare → compare → done

Each block of a ladder has one rung, on fresh containers: what 10 000 connections leave behind does
not count at 100. A file that breaks drops out of its rung and of those above, which is a result,
and the others are measured without it. If the first file breaks at the lowest rung, the job ends:
all others are compared with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean

from tuner.judge import objective, report
from tuner.nouns.model import (
    BASELINE,
    BlockOptions,
    Fail,
    Measure,
    Measurement,
    MeasurementState,
    Objective,
    Outcome,
    Paths,
    Phase,
    Rung,
    Settle,
    Step,
    Succeed,
    TrialNumber,
    TrialState,
    rungs,
)
from tuner.study.blocks import Asked, rounds
from tuner.study.state import Arms, StudyState


def compare(state: StudyState) -> Step | None:
    """Settle files that broke, measure until every other has its blocks, then report."""
    history = state.history
    blocks = history.blocks(Phase.COMPARE)
    lowest, *_ = rungs(state.spec.workload)
    for block in blocks:
        number, failure = block.broken_trial, block.failure
        if number is None or failure is None or block.block_options.rung != lowest:
            continue
        if number == BASELINE:
            return Fail(failure=failure)
        if history.trial(number).outcome is None:
            outcome = Outcome(state=TrialState.INFEASIBLE, failure=failure)
            return Settle(number=number, outcome=outcome)
    if any(block.is_open for block in blocks):
        return None
    complete = [block for block in blocks if block.state is MeasurementState.COMPLETE]
    if asked := _asked(state, _working(state, blocks), complete):
        return _measure(state, asked)
    for trial in history.trials:
        if trial.outcome is None:
            outcome = _outcome(trial.number, complete, state.spec.objective)
            return Settle(number=trial.number, outcome=outcome)
    return Succeed(report=report.build(history))


def _asked(
    state: StudyState, working: Mapping[Rung | None, Arms], complete: Sequence[Measurement]
) -> list[Asked]:
    """The blocks to measure next.

    A file that does not start ends every block that it is planned in: the first pass of a rung
    with several files is asked for alone.
    """
    ran = [(block.arms, block.block_options.rung) for block in complete]
    missing = rounds(state.spec, state.history.job.facts, working, ran)
    for rung, arms in working.items():
        tried = chain.from_iterable(of_block for of_block, at in ran if at == rung)
        if len(arms) > 1 and not {*arms} <= {*tried}:
            return next(of_pass for of_pass in missing if of_pass[0][1] == rung)
    return [*chain(*missing)]


def _working(state: StudyState, blocks: Sequence[Measurement]) -> Mapping[Rung | None, Arms]:
    """The files that have not dropped out, rung by rung."""
    left = [trial.number for trial in state.history.trials]
    is_rising = not isinstance(state.spec.workload, Paths)  # a path says nothing of the next
    found: dict[Rung | None, Arms] = {}
    for rung in rungs(state.spec.workload):
        here = [block for block in blocks if block.block_options.rung == rung]
        broken = {block.broken_trial for block in here}
        found[rung] = tuple(number for number in left if number not in broken)
        if is_rising:
            left = [*found[rung]]
    return found


def _measure(state: StudyState, asked: Sequence[Asked]) -> Measure:
    planned = state.measure([arms for arms, _ in asked])
    plans = (
        replace(plan, block_options=BlockOptions(rung=rung, lengthens=True))
        for plan, (_, rung) in zip(planned.plans, asked, strict=True)
    )
    return replace(planned, plans=tuple(plans))


def _outcome(number: TrialNumber, blocks: Sequence[Measurement], main: Objective) -> Outcome:
    """The mean log ratio to the first file over the blocks that have both."""
    ratios = objective.ratios_to_baseline(blocks, number, main.metric)
    if not ratios:
        return Outcome(state=TrialState.FAILED)
    return Outcome(state=TrialState.COMPLETE, score=main.sign * fmean(ratios))
