"""What has changed, in a line: the reader fetches the rest by the usual calls."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from tuner.nouns.model.measuring import JobId

EVENTS_KEPT = 10_000
"""The newest events, which the table and every API process keep."""


class EventKind(StrEnum):
    """What has changed."""

    JOB = "job"  # its state or its phase
    BLOCK = "block"  # planned, taken by a host, ended, or given back
    TRIAL = "trial"  # created, or it has an outcome
    VERDICT = "verdict"  # the job has its answer
    QUEUE = "queue"  # which jobs of the pool wait, and which runs
    HOST = "host"  # a host of the pool came, or its problem is another one
    RESET = "reset"  # anything: read the rows again. A stream sends it, no row holds it


class Event(BaseModel):
    """One change. Of a job, or of a whole pool."""

    model_config = ConfigDict(frozen=True)

    id: int = Field(description="grows with every change; send it back as Last-Event-ID")
    kind: EventKind = Field(
        description="what has changed; reset: events may be missing, so read all that you show"
    )
    job: JobId | None = Field(description="the job's number; null: the pool has changed")
    pool: str | None = Field(description="of kinds queue and host; else null")
    numbers: tuple[int, ...] = Field(
        description="of kind trial its numbers, of kind block its sequences in the job; else empty"
    )
