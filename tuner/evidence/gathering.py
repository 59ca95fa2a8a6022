"""Rows of a job to the one noun that every section of its report is written from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tuner import objective
from tuner.model import (
    History,
    Job,
    Measurement,
    MeasurementKind,
    MeasurementState,
    Metric,
    Params,
    Phase,
    Recommendation,
    Trial,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvidence:
    """Everything about a tuning job that has its answer.

    `gains` are the log ratios of the confirmation's blocks, signed so that more is better.
    """

    job: Job
    found: Recommendation
    trials: tuple[Trial, ...]
    gains: tuple[float, ...]
    blocks: int  # complete, of all phases
    load_s: float  # seconds of load, of all phases
    setup_s: float  # seconds of starting and stopping containers
    hosts: tuple[str, ...]
    measured_from: datetime | None
    measured_until: datetime | None
    rendered_by: str

    @property
    def metric(self) -> Metric:
        """What the verdict goes by."""
        return self.job.spec.objective.metric

    @property
    def candidate(self) -> Trial | None:
        """What was compared with the user's file."""
        return next((t for t in self.trials if t.number == self.found.candidate), None)

    @property
    def users(self) -> Params:
        """The user's own values; none where nothing was kept of them."""
        return self.trials[0].params if self.trials else {}


def gather(history: History, *, rendered_by: str = "") -> JobEvidence:
    """The evidence of a job. Raises `ValueError` for one without a recommendation.

    `rendered_by` names the program that writes the report, which may be newer than the one that
    measured.
    """
    job = history.job
    if job.recommendation is None:
        raise ValueError(f"job {job.id} has no recommendation")
    complete = [m for m in history.measurements if m.state is MeasurementState.COMPLETE]
    results = [m.result for m in complete if m.result is not None]
    windows = [window for m in complete for window in m.windows]
    return JobEvidence(
        job=job,
        found=job.recommendation,
        trials=tuple(sorted(history.trials, key=lambda trial: trial.number)),
        gains=_gains(history.blocks(Phase.CONFIRM), job),
        blocks=sum(m.kind is MeasurementKind.BLOCK for m in complete),
        load_s=sum(result.load_s for result in results),
        setup_s=sum(result.setup_s for result in results),
        hosts=tuple(sorted({m.host for m in complete if m.host})),
        measured_from=min((w.started_at for w in windows), default=None),
        measured_until=max((w.started_at for w in windows), default=None),
        rendered_by=rendered_by,
    )


def _gains(blocks: Sequence[Measurement], job: Job) -> tuple[float, ...]:
    chosen = job.spec.objective
    ratios = (objective.log_ratio(block, chosen.metric) for block in blocks)
    return tuple(chosen.sign * ratio for ratio in ratios if ratio is not None)
