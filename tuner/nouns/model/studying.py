"""What a study is made of: the job, its trials, and the steps between them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Field

from tuner.nouns.model.answers import Calibration, Recommendation, Verdict
from tuner.nouns.model.documents import JobKind, JobSpec, Priority
from tuner.nouns.model.doubts import Doubt, measure_again
from tuner.nouns.model.measuring import (
    AS_BUDGETED,
    BASELINE,
    BlockOptions,
    Failure,
    JobId,
    Measurement,
    MeasurementKind,
    MeasurementState,
    MemoryLine,
    TargetFacts,
    TrialNumber,
)
from tuner.nouns.model.objectives import Params
from tuner.nouns.model.reports import Report


class JobState(StrEnum):
    """Where a job stands; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether the job has ended."""
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


class Phase(StrEnum):
    """What a job is doing, in this order."""

    VALIDATE = "validate"
    PREPARE = "prepare"
    CALIBRATE = "calibrate"
    SEARCH = "search"
    RACE = "race"
    ABLATE = "ablate"
    CONFIRM = "confirm"
    CONDITIONS = "conditions"  # the confirmed file where production is unlike the bench
    COMPARE = "compare"  # replaces calibrate to confirm in a job that compares files
    DONE = "done"


class TrialState(StrEnum):
    """Where a trial stands. The configuration caused `infeasible`, the host caused `failed`."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETE = "complete"
    PRUNED = "pruned"
    INFEASIBLE = "infeasible"
    FAILED = "failed"


class Origin(StrEnum):
    """Who proposed a trial."""

    BASELINE = "baseline"
    HEURISTIC = "heuristic"
    SAMPLER = "sampler"
    GIVEN = "given"  # one of the files of a comparison
    EARLIER = "earlier"  # an earlier job of the app recommended it
    ABLATION = "ablation"  # some of the winner's options; the others are the user's
    MINIMAL = "minimal"  # only the winner's options that have an effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a trial's windows.

    `score` is the mean log ratio to the baseline of the same block, signed so that more is
    better; None if the trial failed. `constraints` holds each bound's excess: above 0 the bound is
    missed. `gains` has one such score for every metric of the objective. A trial that the sampler
    proposed again has several `blocks` and gets a new outcome after each.
    """

    state: TrialState
    score: float | None = None
    constraints: Mapping[str, float] = field(default_factory=dict)
    blocks: int = 1
    gains: Mapping[str, float] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()
    failure: Failure | None = None

    @property
    def is_feasible(self) -> bool:
        """Whether it ran and kept every bound."""
        return self.score is not None and all(excess <= 0 for excess in self.constraints.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One candidate configuration."""

    number: TrialNumber
    params: Params
    origin: Origin
    state: TrialState
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One request, where it stands, and its results."""

    id: JobId
    spec: JobSpec
    state: JobState
    phase: Phase
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    submitted_by: str | None = None  # the name of a key
    host: str | None = None  # that measures it; None: any of its pool
    pruned_at: datetime | None = None  # when the windows of its search and all series were removed
    facts: TargetFacts | None = None
    calibration: Calibration | None = None
    finalist: TrialNumber | None = None  # what confirm compares with the baseline
    finish_in: Phase | None = None  # where somebody asked it to finish; see `why_not_finish`
    recommendation: Recommendation | None = None
    report: Report | None = None
    failure: Failure | None = None

    @property
    def measure_again(self) -> str | None:
        """Why its answer, of any kind, is not true for production; None: nothing says so."""
        arms = self.report.arms if self.report is not None else ()
        answers = (self.recommendation, self.calibration, *arms)
        return measure_again(doubt for each in answers if each for doubt in each.doubts)


_FINISHABLE = (Phase.SEARCH, Phase.RACE, Phase.ABLATE, Phase.CONFIRM, Phase.CONDITIONS)

DROPPED = (Phase.RACE, Phase.ABLATE, Phase.CONDITIONS)
"""Phases whose open blocks nobody needs once somebody asks the job to finish."""


def why_not_finish(job: Job) -> str | None:
    """Why a job has no shorter way to its answer; None: it has one.

    Before the confirmation, the best so far is confirmed next. The confirmation ends at its next
    look. Conditions and scenes are left out.
    """
    if job.state.is_final:
        return f"job {job.id} has {job.state.value}"
    if job.spec.kind is not JobKind.TUNE:
        return f"job {job.id} is of kind {job.spec.kind}: its answer needs all of its blocks"
    if job.phase not in _FINISHABLE:
        nothing = "has no candidate yet, so nothing can be confirmed"
        return f"job {job.id} {nothing}: wait for its search, or cancel it"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request asks for, as a digest, and whether an earlier job may be its answer."""

    sha256: str | None = None  # equal requests have equal ones; None: it equals no other
    go_on: bool = False  # with an equal job that has not ended
    answered_since: datetime | None = None  # ... or one that has succeeded since then

    def earlier(self, equal: Iterable[Job]) -> JobId | None:
        """The equal job that runs, else the newest that waits, else the one with the newest answer.

        An answer that is to be measured again is none.
        """
        order = (JobState.RUNNING, JobState.QUEUED, JobState.SUCCEEDED)
        fitting = [job for job in equal if not job.state.is_final or self._answers(job)]
        newest = sorted(fitting, key=lambda job: (order.index(job.state), -job.id))
        return newest[0].id if newest and self.go_on else None

    def _answers(self, job: Job) -> bool:
        since, ended = self.answered_since, job.finished_at
        is_new = since is not None and ended is not None and ended >= since
        return is_new and job.state is JobState.SUCCEEDED and job.measure_again is None


ANEW = Asked()
"""A job of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All rows of one job. `study.decide` reads nothing else."""

    job: Job
    trials: tuple[Trial, ...]
    measurements: tuple[Measurement, ...]
    now: datetime
    revision: int = 1  # of the job; every change of its rows raises it
    idle_hosts: tuple[str, ...] = ()  # of the pool, like the job's own: they could help it
    may_start: bool = True  # the pool has a host for it, beside those for the jobs ahead of it

    def blocks(self, phase: Phase) -> tuple[Measurement, ...]:
        """The blocks of one phase, in the order in which they were planned."""
        wanted = (m for m in self.measurements if m.kind is MeasurementKind.BLOCK)
        return tuple(m for m in wanted if m.phase == phase)

    def twin(self, params: Params) -> Trial | None:
        """The trial of exactly these params."""
        return next((trial for trial in self.trials if dict(trial.params) == dict(params)), None)

    def trial(self, number: TrialNumber) -> Trial:
        """The trial of that number."""
        return next(trial for trial in self.trials if trial.number == number)

    @property
    def baseline(self) -> Trial:
        """The user's own file."""
        return self.trial(BASELINE)

    @property
    def memory_line(self) -> MemoryLine | None:
        """The memory line that `prepare` fitted; None before that."""
        return self.job.facts.memory if self.job.facts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A measurement that a host will make."""

    sequence: int
    kind: MeasurementKind
    phase: Phase
    arms: tuple[TrialNumber, ...]
    block_options: BlockOptions = AS_BUDGETED
    host: str | None = None  # that will make it; None: the job's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Enter:
    """Go on to `phase` and store the results of the phase before it.

    `baseline_ini` becomes part of the job: it was read out of the image.
    """

    phase: Phase
    baseline_ini: str | None = None
    facts: TargetFacts | None = None
    calibration: Calibration | None = None
    finalist: TrialNumber | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Store the outcome of a trial; an outcome of more blocks replaces the earlier one."""

    number: TrialNumber
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Create trials (`running` from the start) and plan measurements."""

    plans: tuple[Plan, ...]
    trials: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed:
    """The job succeeded. The job's kind decides which of the three is its answer."""

    recommendation: Recommendation | None = None
    report: Report | None = None
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """The job failed, and why."""

    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A measurement that a host has taken, with its job; `params` are in the order of arms.

    `measurement.attempt` is the fence: each later write about the measurement names it.
    """

    measurement: Measurement
    job: Job
    params: tuple[Params, ...]


Step = Enter | Settle | Measure | Succeed | Fail
"""One change that `study.decide` asks for. It returns None to wait until a host reports."""


# ---- Where a job stands, in columns and sums: no window has to be read for it


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
