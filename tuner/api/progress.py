"""How far a job is, and what it has found so far: pure functions over its rows."""

import math
from collections.abc import Sequence
from statistics import fmean

from tuner.api.schemas import BlockProgress, Incumbent, Progress
from tuner.model import (
    BASELINE,
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

START_OF_BLOCK_S = 1.5
"""What starting and removing a block's containers takes, until the job has blocks of its own."""

_ORDER = tuple(Phase)


def progress_of(job: Job, trials: Sequence[Trial], measurements: Sequence[Measurement]) -> Progress:
    """Trials, blocks and seconds done, and what is left of them."""
    candidates = [trial for trial in trials if trial.number != BASELINE]
    done = [t for t in candidates if t.state not in (TrialState.WAITING, TrialState.RUNNING)]
    blocks = [m for m in measurements if m.kind is MeasurementKind.BLOCK]
    left = _blocks_left(job, len(candidates), len(done), blocks)
    return Progress(
        trials_done=len(done),
        trials_planned=_trials_planned(job, len(candidates)),
        **dict(_of_blocks(job, measurements, left)),
    )


def block_progress_of(job: Job, measurements: Sequence[Measurement]) -> BlockProgress:
    """The same for a job without a search, whose blocks are counted beforehand."""
    budget = job.spec.budget
    is_comparison = job.spec.kind is JobKind.COMPARE
    wanted = budget.compare_blocks if is_comparison else budget.calibrate_blocks
    blocks = [m for m in measurements if m.kind is MeasurementKind.BLOCK]
    done = sum(m.state is MeasurementState.COMPLETE for m in blocks)
    left = 0 if job.state.is_final else max(wanted - done, sum(m.is_open for m in blocks))
    return _of_blocks(job, measurements, left)


def _of_blocks(job: Job, measurements: Sequence[Measurement], left: int) -> BlockProgress:
    complete = [
        m
        for m in measurements
        if m.kind is MeasurementKind.BLOCK and m.state is MeasurementState.COMPLETE
    ]
    return BlockProgress(
        blocks_done=len(complete),
        blocks_left=left,
        measured_s=sum(m.result.load_s for m in measurements if m.result),
        eta_s=_eta_s(job, left, complete),
        first_window_at=min((w.started_at for m in complete for w in m.windows), default=None),
    )


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


def _blocks_left(job: Job, candidates: int, settled: int, blocks: Sequence[Measurement]) -> int:
    if job.state.is_final:
        return 0
    budget = job.spec.budget
    planned = {Phase.CALIBRATE: budget.calibrate_blocks, Phase.CONFIRM: budget.confirm_blocks}
    left = 0
    for phase, size in planned.items():
        if job.phase is phase or _is_before(job, phase):
            own = [m for m in blocks if m.phase == phase]
            left += max(size - sum(not m.is_open for m in own), sum(m.is_open for m in own))
    if job.phase is Phase.SEARCH or _is_before(job, Phase.SEARCH):
        left += _trials_planned(job, candidates) - settled
    other = (m for m in blocks if m.phase in (Phase.RACE, Phase.ABLATE))
    return left + sum(m.is_open for m in other)


def _eta_s(job: Job, left: int, complete: Sequence[Measurement]) -> float | None:
    """Blocks left times a block's mean wall time, shared by the hosts that have measured so far."""
    if job.state.is_final:
        return 0.0
    if job.state is JobState.QUEUED:
        return None
    took = [
        (m.finished_at - m.started_at).total_seconds()
        for m in complete
        if m.started_at and m.finished_at
    ]
    each = fmean(took) if took else _block_load_s(job.spec) + START_OF_BLOCK_S
    hosts = len({m.host for m in complete if m.host}) or 1
    return round(left * each / hosts, 1)


def _block_load_s(spec: JobSpec) -> float:
    """Seconds of load in one block, as asked for; a burst may take longer."""
    budget, sides = spec.budget, len(spec.variants) or 2
    windows_s = budget.cycles * len(rungs(spec.workload)) * budget.window_s
    return sides * (budget.warmup_s + windows_s)
