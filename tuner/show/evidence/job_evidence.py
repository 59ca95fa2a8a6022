"""Rows of a job to the nouns from which every section is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tuner.judge import analysis, objective
from tuner.nouns.model import (
    ByRequest,
    Comparison,
    Evidence,
    History,
    Job,
    MeasurementKind,
    MeasurementState,
    Metric,
    Params,
    Phase,
    Recommendation,
    Trial,
    by_request,
    extended,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredJob:
    """A job that has its answer, and the work behind it.

    `rendered_by` is the program that writes the page: perhaps newer than the one that measured.
    """

    job: Job
    blocks: int  # complete, of all phases
    load_s: float  # seconds of load, of all phases
    setup_s: float  # seconds of starting and stopping containers
    hosts: tuple[str, ...]
    unlike: Mapping[str, str]  # hosts that did not help, and why
    measured_from: datetime | None
    measured_until: datetime | None
    rendered_by: str
    slowest_cpu: float | None = None  # speed in the slowest window, as a share of the fastest


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvidence(MeasuredJob):
    """Everything about a tuning job that has its answer.

    `block_gains` are the log ratios of the confirmation's blocks, positive where the candidate is
    better; `by_request` is of the same blocks.
    """

    recommendation: Recommendation
    trials: tuple[Trial, ...]  # by number
    block_gains: tuple[float, ...]
    by_request: ByRequest

    @property
    def metric(self) -> Metric:
        """The metric that decides the verdict."""
        return self.job.spec.objective.metric

    @property
    def comparison(self) -> Comparison:
        """The candidate against the user's file."""
        return self.recommendation.comparison

    @property
    def phases(self) -> Evidence:
        """How the answer came about."""
        return self.recommendation.evidence

    @property
    def candidate(self) -> Trial | None:
        """The trial that was compared with the user's file."""
        return next((t for t in self.trials if t.number == self.recommendation.candidate), None)

    @property
    def own_params(self) -> Params:
        """The user's own values; empty where the job keeps no trials."""
        return self.trials[0].params if self.trials else {}


def collect(history: History, *, rendered_by: str = "") -> JobEvidence:
    """The evidence of a job. Raises `ValueError` for a job without a recommendation."""
    job = history.job
    if job.recommendation is None:
        raise ValueError(f"job {job.id} has no recommendation")
    aim = job.spec.objective
    blocks = history.blocks(Phase.CONFIRM)
    ratios = [objective.log_ratio(b, aim.metric) for b in blocks]
    baseline, candidate = (
        by_request(window for block in blocks for window in objective.of_arm(block.counted, arm))
        for arm in (0, 1)
    )
    return extended(
        JobEvidence,
        measured_job(history, rendered_by=rendered_by),
        recommendation=job.recommendation,
        trials=tuple(sorted(history.trials, key=lambda trial: trial.number)),
        block_gains=tuple(aim.sign * ratio for ratio in ratios if ratio is not None),
        by_request=ByRequest(baseline=baseline, candidate=candidate),
    )


def measured_job(history: History, *, rendered_by: str = "") -> MeasuredJob:
    """A job of any kind, with the work behind its answer."""
    complete = [m for m in history.measurements if m.state is MeasurementState.COMPLETE]
    results = [m.result for m in complete if m.result is not None]
    windows = [window for m in complete for window in m.windows]
    starts = [window.started_at for window in windows]
    speeds = [speed for w in windows if (speed := w.surroundings.cpu_speed) is not None]
    return MeasuredJob(
        job=history.job,
        blocks=sum(m.kind is MeasurementKind.BLOCK for m in complete),
        load_s=sum(result.load_s for result in results),
        setup_s=sum(result.setup_s for result in results),
        hosts=tuple(sorted({m.host for m in complete if m.host})),
        unlike=_unlike(history),
        measured_from=min(starts, default=None),
        measured_until=max(starts, default=None),
        rendered_by=rendered_by,
        slowest_cpu=min(speeds) / max(speeds) if speeds else None,
    )


def _unlike(history: History) -> Mapping[str, str]:
    """The hosts that measured A/A blocks besides the job's own, if these are not alike."""
    known, spec = history.job.calibration, history.job.spec
    if known is None:
        return {}
    blocks = history.blocks(Phase.CALIBRATE)
    found = {
        host: analysis.unlike(known, [block for block in blocks if block.host == host], spec)
        for host in sorted({block.host for block in blocks if block.host} - {*known.hosts})
    }
    return {host: reason for host, reason in found.items() if reason is not None}
