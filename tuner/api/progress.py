"""How far a job is, and its best trial so far. Pure functions over its status."""

import math
from collections.abc import Mapping, Sequence
from itertools import chain

from tuner.model import (
    RUNS_OF_A_BLOCK,
    Budget,
    Job,
    JobKind,
    JobSpec,
    JobState,
    JobStatus,
    MeasurementKind,
    MeasurementState,
    Phase,
    Tally,
    TrialNumber,
    rungs,
)
from tuner.schemas import Incumbent, Progress
from tuner.study import rounds

START_OF_BLOCK_S = 1.5
"""Time to start and remove a block's containers, until the job has blocks of its own."""

_ORDER = tuple(Phase)
_Block = tuple[int, int]  # arms, and cycles of each arm


def progress_of(status: JobStatus) -> Progress:
    """Trials, blocks and seconds done, and what is left of them."""
    job = status.job
    blocks = [tally for tally in status.tallies if tally.kind is MeasurementKind.BLOCK]
    complete = [tally for tally in blocks if tally.state is MeasurementState.COMPLETE]
    left = _left(job, blocks)
    first = [tally.first_window_at for tally in complete if tally.first_window_at is not None]
    is_search = job.spec.kind is JobKind.TUNE
    return Progress(
        blocks_done=sum(tally.count for tally in complete),
        blocks_left=len(left),
        measured_s=sum(tally.load_s for tally in status.tallies),
        eta_s=_eta_s(job, left, complete),
        first_window_at=min(first, default=None),
        trials_done=status.settled if is_search else None,
        trials_planned=_trials_planned(job, status.candidates) if is_search else None,
    )


def incumbent_of(status: JobStatus) -> Incumbent | None:
    """The feasible trial with the highest score; None before the first score."""
    best = status.best
    if status.job.spec.kind is not JobKind.TUNE or best is None or best.outcome is None:
        return None
    score = best.outcome.score
    if score is None:
        return None
    return Incumbent.of(best.outcome, best, ratio=math.exp(score))


def _is_before(job: Job, phase: Phase) -> bool:
    return _ORDER.index(job.phase) < _ORDER.index(phase)


def _trials_planned(job: Job, candidates: int) -> int:
    """The budget's, until the search has ended. A small space or the clock may end it early."""
    if job.state.is_final or not (job.phase is Phase.SEARCH or _is_before(job, Phase.SEARCH)):
        return candidates
    return max(job.spec.budget.trials, candidates)


def _left(job: Job, blocks: Sequence[Tally]) -> list[_Block]:
    """Blocks that the present and the later phases may still need."""
    if job.state.is_final:
        return []
    left: list[_Block] = []
    for phase, planned in _planned(job).items():
        if job.phase is not phase and not _is_before(job, phase):
            continue
        own = [tally for tally in blocks if tally.phase is phase]
        missing = planned[sum(tally.count for tally in own if not tally.is_open) :]
        waiting = [
            _shape(job.spec, tally) for tally in own if tally.is_open for _ in range(tally.count)
        ]
        left += missing if len(missing) >= len(waiting) else waiting
    return left


def _planned(job: Job) -> Mapping[Phase, Sequence[_Block]]:
    """Every block that a phase may have at most. A race and a confirmation may end early."""
    spec, budget = job.spec, job.spec.budget
    pair = (2, budget.cycles)
    match spec.kind:
        case JobKind.COMPARE:
            files = tuple(TrialNumber(number) for number in range(len(spec.variants)))
            working = dict.fromkeys(rungs(spec.workload), files)
            blocks = chain(*rounds(spec, job.facts, working))
            return {Phase.COMPARE: [(len(arms), budget.cycles) for arms, _ in blocks]}
        case JobKind.CALIBRATE:
            return {Phase.CALIBRATE: [pair] * budget.calibrate_blocks}
        case JobKind.TUNE:
            runs = budget.ablate_runs // RUNS_OF_A_BLOCK
            return {
                Phase.CALIBRATE: [pair] * budget.calibrate_blocks,
                Phase.SEARCH: [pair] * budget.trials,
                Phase.RACE: _race(budget),
                Phase.ABLATE: [(RUNS_OF_A_BLOCK + 1, budget.cycles)] * runs,
                Phase.CONFIRM: [pair] * budget.confirm_blocks,
            }


def _race(budget: Budget) -> list[_Block]:
    return [
        (racing + 1, budget.race_cycles)
        for racing in budget.race_rounds
        for _ in range(budget.blocks_of_round(racing, entered=budget.race))
    ]


def _shape(spec: JobSpec, tally: Tally) -> _Block:
    return tally.arms, tally.cycles or spec.budget.cycles


def _eta_s(job: Job, left: Sequence[_Block], complete: Sequence[Tally]) -> float | None:
    """Load that is left, at the pace of the blocks so far, shared by the hosts that made them."""
    if job.state.is_final:
        return 0.0
    if job.state is JobState.QUEUED:
        return None
    took_s = sum(tally.took_s for tally in complete)
    asked_s = sum(tally.timed * _load_s(job.spec, _shape(job.spec, tally)) for tally in complete)
    left_s = sum(_load_s(job.spec, block) for block in left)
    overhead_s = len(left) * START_OF_BLOCK_S
    expected_s = left_s * took_s / asked_s if asked_s else left_s + overhead_s
    hosts = len(frozenset[str]().union(*(tally.hosts for tally in complete))) or 1
    return round(expected_s / hosts, 1)


def _load_s(spec: JobSpec, block: _Block) -> float:
    """Seconds of load in one block, as the budget asks; a burst may take longer."""
    budget = spec.budget
    arms, cycles = block
    loads = 1 if spec.kind is JobKind.COMPARE else len(rungs(spec.workload))
    return arms * (budget.warmup_s + cycles * loads * budget.window_s)
