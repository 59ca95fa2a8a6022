"""Where a job stands, in columns and sums: no window has to be read for it."""

from dataclasses import dataclass
from datetime import datetime
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Field

from tuner.nouns.model.answers import Verdict
from tuner.nouns.model.documents import JobKind, Priority
from tuner.nouns.model.measuring import JobId, MeasurementKind, MeasurementState
from tuner.nouns.model.studying import Job, JobState, Phase, Trial


class JobSummary(BaseModel):
    """A job in a list."""

    model_config = ConfigDict(frozen=True)

    id: JobId = Field(description="the job's number; jobs of all kinds share one sequence")
    kind: JobKind = Field(description="what was asked for")
    app: str = Field(description="the app's name; CI fetches the recommendation under it")
    pool: str = Field(description="the set of like hosts that measures the job")
    priority: Priority = Field(description="nightly jobs wait for all interactive ones")
    state: JobState = Field(description="succeeded, failed and cancelled are final")
    phase: Phase = Field(description="the present phase; of a job that has ended, the last one")
    verdict: Verdict | None = Field(description="null until a job of kind tune has its answer")
    created_at: datetime = Field(description="time of submission")
    started_at: datetime | None = Field(description="start of the first measurement")
    finished_at: datetime | None = Field(description="time of the final state")
    submitted_by: str | None = Field(
        description="the name of the key; null: the service asked for none"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Measurements of one job that are alike, added up."""

    kind: MeasurementKind
    phase: Phase
    state: MeasurementState
    arms: int
    cycles: int | None  # of each arm; None: as the job's budget says
    count: int
    timed: int = 0  # with a start and an end
    took_s: float = 0.0  # wall time of the timed ones
    load_s: float = 0.0  # seconds of load
    hosts: frozenset[str] = frozenset()
    first_window_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether hosts have still to finish them."""
        return self.state in (MeasurementState.QUEUED, MeasurementState.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """A job, and the figures of its trials and measurements."""

    job: Job
    revision: int  # grows with every change of the job or its rows
    queue_position: int | None  # jobs of the pool before it; None unless it is queued
    waits_for: str | None = None  # what keeps every host of its pool from measuring
    candidates: int = 0  # trials, without the baseline
    settled: int = 0  # candidates that have a result
    best: Trial | None = None  # the feasible trial with the highest score
    tallies: tuple[Tally, ...] = ()

    @property
    def version(self) -> str:
        """Names this status: another status of the job has another version."""
        return version_of(self.revision, self.queue_position, self.waits_for)


def version_of(revision: int, queue_position: int | None, waits_for: str | None) -> str:
    """The version of a status. Other jobs and hosts do not change its revision."""
    return f"{revision}-{queue_position}-{crc32((waits_for or '').encode()):x}"
