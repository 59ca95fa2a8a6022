"""What a study is made of: the job, its trials, and the steps between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tuner.model.answers import Calibration, Recommendation, Report
from tuner.model.documents import JobSpec
from tuner.model.doubts import Doubt
from tuner.model.measuring import (
    AS_BUDGETED,
    BASELINE,
    BlockOptions,
    Failure,
    JobId,
    Measurement,
    MeasurementKind,
    MemoryLine,
    TargetFacts,
    TrialNumber,
)
from tuner.model.spaces import Params


class JobState(StrEnum):
    """Where a job stands; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether nothing more will happen to the job."""
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
    COMPARE = "compare"  # instead of all from calibrate to confirm, where files were given
    DONE = "done"


class TrialState(StrEnum):
    """Where a trial stands. `infeasible` is the configuration's fault, `failed` the host's."""

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
    EARLIER = "earlier"  # what an earlier job of the app recommended
    ABLATION = "ablation"  # some of the winner's options, the rest the user's
    MINIMAL = "minimal"  # those of the winner's options that earn their place


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a trial's windows amount to.

    `score` is the mean log ratio to the baseline of the same block, signed so that more is
    better; None where the trial broke. `constraints` holds each bound's excess: above 0 is broken.
    `gains` are the same as `score` for every metric of the objective. A trial that the sampler
    proposed again has several `blocks`, and is settled anew after each.
    """

    state: TrialState
    score: float | None
    constraints: Mapping[str, float]
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
    """One request to tune one app, and where it stands."""

    id: JobId
    spec: JobSpec
    state: JobState
    phase: Phase
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    facts: TargetFacts | None = None
    calibration: Calibration | None = None
    finalist: TrialNumber | None = None  # what confirm compares with the baseline
    recommendation: Recommendation | None = None
    report: Report | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All rows of one job: what `study.decide` looks at, and nothing else."""

    job: Job
    trials: tuple[Trial, ...]
    measurements: tuple[Measurement, ...]
    now: datetime
    hosts: int = 1  # live workers in the job's pool
    pool_is_free: bool = True  # no other job of the pool is running, and none came earlier

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
        """What `prepare` found about memory, once it has."""
        return self.job.facts.memory if self.job.facts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A measurement to be made."""

    sequence: int
    kind: MeasurementKind
    phase: Phase
    arms: tuple[TrialNumber, ...]
    block_options: BlockOptions = AS_BUDGETED


@dataclass(frozen=True, slots=True, kw_only=True)
class Enter:
    """Go on to `phase`, keeping what the one before found out."""

    phase: Phase
    facts: TargetFacts | None = None
    calibration: Calibration | None = None
    finalist: TrialNumber | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Write down what came of a trial; of one with more blocks than before, write it anew."""

    number: TrialNumber
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Create trials (`running` at once) and have measurements made."""

    plans: tuple[Plan, ...]
    trials: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed:
    """The job is done; this is its answer: one of the three, by the job's kind."""

    recommendation: Recommendation | None = None
    report: Report | None = None
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """The job cannot be done; this is why."""

    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A measurement that a host may now make, with its job; `params` are in the order of arms.

    `measurement.attempt` is the fence: every later write about it carries that number.
    """

    measurement: Measurement
    job: Job
    params: tuple[Params, ...]


Step = Enter | Settle | Measure | Succeed | Fail
"""One change that `study.decide` asks for; None in its place: wait until a host reports."""
