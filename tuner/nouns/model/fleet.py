"""What the service looks after: hosts, apps and their answers, events, and all of it in sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tuner.nouns.model.answers import Calibration, ChangedLine, Effect, Verdict
from tuner.nouns.model.base import Document, about
from tuner.nouns.model.documents import JobKind
from tuner.nouns.model.doubts import Doubt
from tuner.nouns.model.measuring import (
    HOST_IS_STALE_AFTER,
    HostFingerprint,
    JobId,
    MeasurementState,
)
from tuner.nouns.model.studying import JobState, JobSummary, Phase
from tuner.nouns.plain import printable

# ---- What has changed, in a line: the reader fetches the rest by the usual calls

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


# ---- What a check found where an app is deployed: does its file still have the recommended effect?

MOST_SAID = 500


class Checker(StrEnum):
    """The command that looked."""

    RECOMMEND = "recommend"  # `tuner recommend --check`: compares the deployed file
    GATE = "gate"  # `tuner gate`: measures on a new image


class NewCheck(Document):
    """The body of `POST /v1/apps/{app}/checks`."""

    checker: Checker = Field(description="recommend: compared the file; gate: measured an image")
    job: int = Field(ge=1, le=2**63 - 1, description="the job whose answer was checked")
    holds: bool = Field(description="whether what is deployed still has the recommended effect")
    said: Annotated[str, AfterValidator(printable)] = Field(
        "", max_length=MOST_SAID, description="what differs, in a sentence"
    )


class Check(BaseModel):
    """The last word of one checker about an app."""

    model_config = ConfigDict(frozen=True)

    checker: Checker = Field(description="recommend: compared the file; gate: measured an image")
    job: JobId = Field(description="the job whose answer was checked")
    holds: bool = Field(description="whether what is deployed still has the recommended effect")
    said: str = Field(description="what differs, in a sentence")
    at: datetime = Field(description="when the service heard of it")


# ---- Benchmark hosts as they last reported themselves

IS_DRAINED = "it is drained; `tuner hosts resume` ends that"
HAS_A_JOB = "it measures another job"


@dataclass(frozen=True, kw_only=True)
class BenchmarkHost:
    """A benchmark host as its worker last reported it."""

    name: Annotated[str, about("the name of its worker")]
    pool: Annotated[str, about("the set of like hosts that it belongs to")]
    fingerprint: Annotated[HostFingerprint | None, about("null until the worker has read it")]
    last_seen: Annotated[datetime, about("time of the worker's last report")]
    problem: Annotated[str | None, about("what keeps it from measuring")]
    drained_at: Annotated[datetime | None, about("since then it takes no more work")] = None
    job: Annotated[int | None, about("the job that it measures")] = None
    calibration: Annotated[Calibration | None, about("the last one; null: there is none")] = None
    calibrated_at: Annotated[datetime | None, about("time of that calibration")] = None
    calibrated_with: Annotated[str | None, about("target app or image of that calibration")] = None

    @property
    def hindrance(self) -> str | None:
        """Why it takes no work; None if it does."""
        return self.problem or (IS_DRAINED if self.drained_at else None)


def is_live(host: BenchmarkHost, now: datetime) -> bool:
    """Whether its worker reported lately."""
    return now - host.last_seen <= HOST_IS_STALE_AFTER


def what_is_missing(problems: Mapping[str, str | None]) -> str | None:
    """Why nothing is measured, from the problems of all live hosts by name; None if one can."""
    if not problems:
        return "no worker is live; start one with `tuner worker`"
    known = [f"{name}: {problem}" for name, problem in sorted(problems.items()) if problem]
    return "; ".join(known) if len(known) == len(problems) else None


# ---- An app among others: its newest job, and the answers that its jobs have had

MOST_ANSWERS = 20
"""The newest answers of one app that are listed."""

MOST_LISTED = 4
"""Answers of each app in a list of apps: more would make that of an old service too large."""


@dataclass(frozen=True, kw_only=True)
class PastAnswer:
    """The answer of one job, in short."""

    job: Annotated[JobId, about("the job that found it")]
    verdict: Annotated[Verdict, about("what fresh data said about its candidate")]
    finished_at: Annotated[datetime, about("when it was confirmed")]
    effect: Annotated[Effect | None, about("of the objective; null: not measured")]
    lines: Annotated[tuple[ChangedLine, ...], about("what changes in the file and its box")]
    measure_again: Annotated[
        str | None, about("why it is not true for production; null: nothing says so")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppInBrief:
    """An app that has been tuned or compared, or will be."""

    app: str
    newest: JobSummary  # of kind tune or compare
    open_jobs: int  # that are queued or run
    answers: tuple[PastAnswer, ...]  # the newest first: `MOST_ANSWERS`, or `MOST_LISTED` in a list
    checks: tuple[Check, ...] = ()  # at most one of each checker


# ---- What the service has done so far and what it has to do, in sums: for monitoring

NO_VERDICT = "none"


class Counted(StrEnum):
    """What is counted for good: a total never falls."""

    JOBS_STARTED = "jobs_started"
    WAITED_S = "waited_s"  # of jobs, from submission to start
    JOBS_ENDED = "jobs_ended"
    BLOCKS = "blocks"  # complete and failed
    MEASURED_S = "measured_s"  # wall time of complete and failed measurements
    LOAD_S = "load_s"  # the part of it in which load was driven
    WINDOWS = "windows"
    DOUBTS = "doubts"  # windows with that doubt
    HOST_FAULTS = "host_faults"  # measurements given back because the host failed


Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """So many of something in a pool, or one more; `labels` are one of `LABELS`."""

    counted: Counted
    pool: str
    value: float = 1.0
    labels: Labels = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenJobs:
    """The jobs of a pool in one state, which is queued or running."""

    pool: str
    state: JobState
    count: int
    oldest_s: float  # since the first of them was submitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """All totals, and the jobs that have not ended."""

    totals: tuple[Total, ...] = ()
    open_jobs: tuple[OpenJobs, ...] = ()


def end_of_job(kind: JobKind, state: JobState, verdict: Verdict | None = None) -> Labels:
    """The labels of a job that has ended."""
    return {"kind": kind, "state": state, "verdict": verdict or NO_VERDICT}


def _ends() -> list[Labels]:
    verdicts = [end_of_job(JobKind.TUNE, JobState.SUCCEEDED, verdict) for verdict in Verdict]
    others = [
        end_of_job(kind, state)
        for kind in JobKind
        for state in JobState
        if state.is_final and (kind, state) != (JobKind.TUNE, JobState.SUCCEEDED)
    ]
    return verdicts + others


_OF_BLOCKS = tuple(p for p in Phase if p not in (Phase.VALIDATE, Phase.PREPARE, Phase.DONE))
_ENDS_OF_BLOCKS = (MeasurementState.COMPLETE, MeasurementState.FAILED)
_ONE: Sequence[Labels] = ({},)

LABELS: Mapping[Counted, Sequence[Labels]] = {
    **dict.fromkeys(Counted, _ONE),
    Counted.JOBS_ENDED: _ends(),
    Counted.BLOCKS: [
        {"phase": phase, "state": state} for phase in _OF_BLOCKS for state in _ENDS_OF_BLOCKS
    ],
    Counted.DOUBTS: [{"doubt": doubt} for doubt in Doubt],
}
"""All labels that a total may have. One that was never counted is 0, and not unknown."""
