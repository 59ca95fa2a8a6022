"""The phase of a comparison: every given file in every pass, and a report at the end."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from statistics import fmean

from tuner.judge import grids, objective, report
from tuner.nouns.model import (
    BASELINE,
    BlockOptions,
    Fail,
    JobKind,
    JobSpec,
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
    TargetFacts,
    TrialNumber,
    TrialState,
    rungs,
)
from tuner.study.state import Arms, StudyState

# ---- The blocks of a comparison: all files in each, or as many as the memory of the host bears
#
# A **pass** is the fewest blocks in which every file runs with those that it is compared with.
# The first file is in all of them. A job has as many passes as the request has blocks; while all
# files fit together, a pass is one block. A ladder has as many passes of each rung: a **round**
# is one pass of every rung.

Asked = tuple[grids.Arms, Rung | None]
"""The files of a block, and its rung."""

HOST_SHARE = 0.7
"""Largest share of the host's memory for the limits of all arms of one block together."""


def arms_at_once(spec: JobSpec) -> int:
    """Arms of the largest block that the job cannot do without."""
    if spec.kind is JobKind.COMPARE:
        return max(2, *(len({BASELINE, *group}) for group in grids.groups(spec)))
    return spec.budget.arms_at_once


def rounds(
    spec: JobSpec,
    facts: TargetFacts | None,
    working: Mapping[Rung | None, grids.Arms],
    complete: Sequence[Asked] = (),
) -> list[list[Asked]]:
    """The passes that are missing after the `complete` blocks, round by round.

    Each rung has its own files that are `working`; one without any has no passes.
    """
    left = {
        rung: passes(spec, facts, arms, [of_block for of_block, at in complete if at == rung])
        for rung, arms in working.items()
        if arms
    }
    return [
        [(arms, rung) for arms in missing[-turns]]
        for turns in range(spec.budget.compare_blocks, 0, -1)
        for rung, missing in left.items()
        if turns <= len(missing)
    ]


def passes(
    spec: JobSpec,
    facts: TargetFacts | None,
    working: grids.Arms,
    complete: Sequence[grids.Arms] = (),
) -> list[list[grids.Arms]]:
    """The passes of one rung that are missing after the `complete` blocks, of `working` files.

    From pass to pass another group comes first, so that the cuts between blocks move.
    """
    groups = [tuple(arm for arm in group if arm in working) for group in grids.groups(spec)]
    first = {BASELINE} & {*working}  # at a high rung it may have dropped out
    wanted = [group for group in groups if group] or [(BASELINE,)]
    done = {group: sum({*group} <= {*arms} for arms in complete) for group in wanted}
    found = []
    for turn in range(min(done.values()), spec.budget.compare_blocks):
        missing = [group for group, times in done.items() if times <= turn]
        at = turn % len(missing)
        found.append(_packed(spec, room_mb(facts), first, [*missing[at:], *missing[:at]]))
    return found


def room_mb(facts: TargetFacts | None) -> float:
    """Memory for the arms of one block; unlimited before the host is known."""
    return HOST_SHARE * facts.fingerprint.memory_mb if facts else float("inf")


def needs_mb(spec: JobSpec, arms: Iterable[TrialNumber]) -> int:
    """The memory limits of the arms of a block and of their services, in MB."""
    boxes, targets = spec.boxes, spec.targets
    return sum(boxes[arm].memory_mb + targets[arm].services_memory_mb for arm in arms)


def _packed(
    spec: JobSpec, room: float, first: Iterable[TrialNumber], groups: Sequence[grids.Arms]
) -> list[grids.Arms]:
    """Blocks that hold every group beside the first file; each has room for one group at least."""
    blocks: list[set[TrialNumber]] = []
    for group in groups:
        block = next((b for b in blocks if needs_mb(spec, {*b, *group}) <= room), None)
        if block is None:
            block = {*first}
            blocks.append(block)
        block.update(group)
    return [tuple(sorted(block)) for block in blocks]


# ---- The phase of a comparison: every given file in every pass, and a report at the end
#
#     validate → prepare → compare → done
#
# Each block of a ladder has one rung, on fresh containers: what 10 000 connections leave behind
# does not count at 100. A file that breaks drops out of its rung and of those above, which is a
# result, and the others are measured without it. If the first file breaks at the lowest rung, the
# job ends: all others are compared with it.


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
