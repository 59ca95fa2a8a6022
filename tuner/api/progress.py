"""How far a job is, and what it has found so far: pure functions over its rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.model import (
    BASELINE,
    RUNS_OF_A_BLOCK,
    Budget,
    Job,
    JobKind,
    JobSpec,
    JobState,
    Measurement,
    MeasurementKind,
    MeasurementState,
    Phase,
    Trial,
    TrialState,
    rungs,
)
from tuner.schemas import Incumbent, Progress

START_OF_BLOCK_S = 1.5
"""What starting and removing a block's containers takes, until the job has blocks of its own."""

_ORDER = tuple(Phase)


def progress_of(job: Job, trials: Sequence[Trial], measurements: Sequence[Measurement]) -> Progress:
    """Trials, blocks and seconds done, and what is left of them."""
    blocks = [m for m in measurements if m.kind is MeasurementKind.BLOCK]
    complete = [m for m in blocks if m.state is MeasurementState.COMPLETE]
    is_search = job.spec.kind is JobKind.TUNE
    candidates = [trial for trial in trials if trial.number != BASELINE]
    done = [t for t in candidates if t.state not in (TrialState.WAITING, TrialState.RUNNING)]
    left = _left(job, blocks)
    return Progress(
        blocks_done=len(complete),
        blocks_left=left.blocks,
        measured_s=sum(m.result.load_s for m in measurements if m.result),
        eta_s=_eta_s(job, left, complete),
        first_window_at=min((w.started_at for m in complete for w in m.windows), default=None),
        trials_done=len(done) if is_search else None,
        trials_planned=_trials_planned(job, len(candidates)) if is_search else None,
    )


@dataclass(frozen=True, slots=True)
class _Left:
    """What a job may still measure, at most: a race and a confirmation may end early."""

    blocks: int
    load_s: float  # as the budget asks; a burst may take longer


def incumbent_of(trials: Sequence[Trial]) -> Incumbent | None:
    """The feasible trial with the highest score; None before the first score."""
    feasible = [t for t in trials if t.outcome is not None and t.outcome.is_feasible]
    best = max(feasible, key=_score, default=None)
    if best is None or best.outcome is None:
        return None
    return Incumbent(
        number=best.number,
        params=best.params,
        score=_score(best),
        ratio=math.exp(_score(best)),
        doubts=best.outcome.doubts,
    )


def _score(trial: Trial) -> float:
    score = trial.outcome.score if trial.outcome else None
    return -math.inf if score is None else score


def _is_before(job: Job, phase: Phase) -> bool:
    return _ORDER.index(job.phase) < _ORDER.index(phase)


def _trials_planned(job: Job, candidates: int) -> int:
    """The budget's, until the search has ended: a small space, or the clock, ends it early."""
    if job.state.is_final or not (job.phase is Phase.SEARCH or _is_before(job, Phase.SEARCH)):
        return candidates
    return max(job.spec.budget.trials, candidates)


def _left(job: Job, blocks: Sequence[Measurement]) -> _Left:
    """Blocks and seconds of load that the phases still to come may take."""
    if job.state.is_final:
        return _Left(0, 0.0)
    count, load_s = 0, 0.0
    for phase, planned in _planned(job.spec).items():
        if job.phase is not phase and not _is_before(job, phase):
            continue
        own = [m for m in blocks if m.phase == phase]
        closed = sum(not m.is_open for m in own)
        missing = planned[closed:]
        waiting = [_arms_and_cycles(job.spec, m) for m in own if m.is_open]
        ahead = missing if len(missing) >= len(waiting) else waiting
        count += len(ahead)
        load_s += sum(_load_s(job.spec, arms, cycles) for arms, cycles in ahead)
    return _Left(count, load_s)


def _planned(spec: JobSpec) -> Mapping[Phase, list[tuple[int, int]]]:
    """Arms and cycles of every block that a phase may have at most."""
    budget = spec.budget
    pair = (2, budget.cycles)
    match spec.kind:
        case JobKind.COMPARE:
            return {Phase.COMPARE: [(len(spec.variants), budget.cycles)] * budget.compare_blocks}
        case JobKind.CALIBRATE:
            return {Phase.CALIBRATE: [pair] * budget.calibrate_blocks}
        case JobKind.TUNE:
            return {
                Phase.CALIBRATE: [pair] * budget.calibrate_blocks,
                Phase.SEARCH: [pair] * budget.trials,
                Phase.RACE: _race(budget),
                Phase.ABLATE: [(RUNS_OF_A_BLOCK + 1, budget.cycles)]
                * (budget.ablate_runs // RUNS_OF_A_BLOCK),
                Phase.CONFIRM: [pair] * budget.confirm_blocks,
            }


def _race(budget: Budget) -> list[tuple[int, int]]:
    return [
        (racing + 1, budget.race_cycles)
        for racing in budget.race_rounds
        for _ in range(budget.blocks_of_round(racing, entered=budget.race))
    ]


def _arms_and_cycles(spec: JobSpec, block: Measurement) -> tuple[int, int]:
    return len(block.arms), block.block_options.cycles or spec.budget.cycles


def _eta_s(job: Job, left: _Left, complete: Sequence[Measurement]) -> float | None:
    """Load that is left, at the pace of the blocks so far, shared by the hosts that made them."""
    if job.state.is_final:
        return 0.0
    if job.state is JobState.QUEUED:
        return None
    timed = [m for m in complete if m.started_at and m.finished_at]
    took_s = sum(
        (m.finished_at - m.started_at).total_seconds()
        for m in timed
        if m.started_at and m.finished_at
    )
    asked_s = sum(_load_s(job.spec, *_arms_and_cycles(job.spec, m)) for m in timed)
    overhead_s = left.blocks * START_OF_BLOCK_S
    expected_s = left.load_s * took_s / asked_s if asked_s else left.load_s + overhead_s
    hosts = len({m.host for m in complete if m.host}) or 1
    return round(expected_s / hosts, 1)


def _load_s(spec: JobSpec, arms: int, cycles: int | None = None) -> float:
    """Seconds of load in one block of so many arms, as asked for."""
    budget = spec.budget
    windows_s = (cycles or budget.cycles) * len(rungs(spec.workload)) * budget.window_s
    return arms * (budget.warmup_s + windows_s)
