"""How far a job is, and its best trial so far. Pure functions over its status."""

import math
from collections.abc import Sequence

from tuner.nouns.model import (
    BASELINE,
    Job,
    JobKind,
    JobSpec,
    JobState,
    JobStatus,
    MeasurementKind,
    MeasurementState,
    Phase,
    Tally,
)
from tuner.nouns.schemas import Incumbent, Progress
from tuner.service.api.sizes import Block, Planned, expected_s, load_s

_ORDER = tuple(Phase)


def progress_of(status: JobStatus, plan: Planned) -> Progress:
    """Trials, blocks and seconds done, and what is left of them."""
    job = status.job
    blocks = [tally for tally in status.tallies if tally.kind is MeasurementKind.BLOCK]
    complete = [tally for tally in blocks if tally.state is MeasurementState.COMPLETE]
    left = _left(job, plan, blocks)
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


def _left(job: Job, plan: Planned, blocks: Sequence[Tally]) -> list[Block]:
    """Blocks that the present and the later phases may still need."""
    if job.state.is_final:
        return []
    left: list[Block] = []
    for phase, planned in plan.items():
        if job.phase is not phase and not _is_before(job, phase):
            continue
        own = [tally for tally in blocks if tally.phase is phase]
        missing = planned[sum(tally.count for tally in own if not tally.is_open) :]
        waiting = [
            _shape(job.spec, tally) for tally in own if tally.is_open for _ in range(tally.count)
        ]
        left += missing if len(missing) >= len(waiting) else waiting
    return left


def _shape(spec: JobSpec, tally: Tally) -> Block:
    return (BASELINE,) * tally.arms, tally.cycles or spec.budget.cycles


def _eta_s(job: Job, left: Sequence[Block], complete: Sequence[Tally]) -> float | None:
    """Load that is left, at the pace of the blocks so far, shared by the hosts that made them."""
    if job.state.is_final:
        return 0.0
    if job.state is JobState.QUEUED:
        return None
    took_s = sum(tally.took_s for tally in complete)
    asked_s = sum(tally.timed * load_s(job.spec, _shape(job.spec, tally)) for tally in complete)
    left_s = sum(load_s(job.spec, block) for block in left)
    at_pace_s = left_s * took_s / asked_s if asked_s else expected_s(job.spec, left)
    hosts = len(frozenset[str]().union(*(tally.hosts for tally in complete))) or 1
    return round(at_pace_s / hosts, 1)
