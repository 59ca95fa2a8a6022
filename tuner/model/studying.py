"""What a study is made of: the job, its trials, the verdict, and the steps between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tuner.model.documents import JobSpec, Metric
from tuner.model.doubts import Doubt
from tuner.model.evidence import NO_EVIDENCE, Evidence, Look
from tuner.model.measuring import (
    AS_BUDGETED,
    BASELINE,
    Course,
    Failure,
    JobId,
    Measurement,
    MeasurementKind,
    MemoryLine,
    TargetFacts,
    TrialNumber,
)
from tuner.model.spaces import Scalar
from tuner.model.windows import Histogram, Spread

Params = Mapping[str, Scalar]
"""Values by parameter name of the search space, as in `{"processes": 4, "logging": "user"}`."""


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
class Effect:
    """A relative change and its 95 % interval: +0.068 is 6.8 % more of `metric`."""

    metric: Metric
    estimate: float
    ci_low: float
    ci_high: float


class Verdict(StrEnum):
    """What fresh data say about a candidate against the baseline."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no_difference"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A candidate against the baseline over `blocks` fresh blocks.

    `p_better` is the probability that the candidate is better at all; `mde` the smallest relative
    effect that so many blocks of this noise would have shown (one-sided 5 %, power 80 %).
    """

    verdict: Verdict
    effect: Effect | None
    p_better: float | None
    mde: float | None
    blocks: int
    reason: str
    requests: int = 0  # that the candidate answered with 2xx in these blocks
    errors: int = 0  # ... and those that failed
    side_effects: tuple[Effect, ...] = ()
    broken: Mapping[str, float] = field(default_factory=dict)  # bounds not kept, with their excess
    looks: tuple[Look, ...] = ()  # in order; the last one decided


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The baseline against itself: what this host can tell apart in this job's budget."""

    blocks: int
    bias: float  # mean log ratio of the two equal sides
    bias_ci_low: float
    bias_ci_high: float
    block_sd: float  # standard deviation of a block's log ratio
    mde: float  # smallest relative effect that the confirmation will be able to see
    throughput_rps: float  # the baseline's own, median over the windows
    resolves_min_effect: bool
    doubts: tuple[Doubt, ...] = ()
    start_sd: float | None = None  # of the log of the metric, from one start to another
    window_sd: float | None = None  # ... from one window to the next of the same start
    period_s: float | None = None  # shortest alternation that is near the quietest, by scan
    client_cpu: float | None = None  # share of the load generator's CPUs in use, at most
    block_s: float | None = None  # wall time of one block
    hosts: tuple[str, ...] = ()  # who measured it


class Bottleneck(StrEnum):
    """What limits the target under this workload."""

    CPU_QUOTA = "cpu_quota"
    GIL = "gil"
    IO_WAIT = "io_wait"
    BACKLOG = "backlog"
    MEMORY = "memory"
    ROUTER = "router"
    LOG_SINK = "log_sink"
    LOCK_CONTENTION = "lock_contention"
    LOAD_GENERATOR = "load_generator"
    CONCURRENCY = "concurrency"
    APP_ERRORS = "app_errors"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The bottleneck, a sentence about it, and the figures that say so."""

    bottleneck: Bottleneck
    sentence: str
    evidence: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedLine:
    """One option that the recommended file sets otherwise than the user's.

    `effect` is None where it was not measured apart from the others. Options of one factor, as
    `processes` and `threads`, share its effect.
    """

    option: str
    value: str
    baseline_value: str | None
    effect: Effect | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The answer to a job: which file to deploy, and why."""

    comparison: Comparison
    candidate: TrialNumber | None  # what was compared; None where nothing came so far
    params: Params
    lines: tuple[ChangedLine, ...]
    reverted: tuple[ChangedLine, ...]
    diagnosis: Diagnosis
    reason: str
    uwsgi_ini: str  # the user's file, patched; unchanged unless the verdict is `better`
    overlay_ini: str  # the changed options alone, for a second --ini
    doubts: tuple[Doubt, ...] = ()
    evidence: Evidence = NO_EVIDENCE

    @property
    def verdict(self) -> Verdict:
        """Short for the comparison's."""
        return self.comparison.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One metric of one file over all blocks: robust centre and 95 % interval.

    One block alone has no interval: it does not say how the next start would differ.
    `concurrency` tells the rungs of a ladder apart; None where there is but one.
    """

    metric: Metric
    value: float
    ci_low: float | None
    ci_high: float | None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SideReport:
    """What came of one file of a comparison.

    `effects` are against the first file, over the same blocks; empty for that file itself.
    """

    name: str
    figures: tuple[Figure, ...]
    effects: tuple[Effect, ...]
    verdict: Verdict | None
    blocks: int
    windows: int
    requests: int
    errors_by_class: Mapping[str, int]
    diagnosis: Diagnosis
    doubts: tuple[Doubt, ...]
    latency: Histogram
    connect: Spread | None = None  # medians over the windows
    proxy_connect: Spread | None = None
    over_limit: float | None = None  # share of all requests not answered within the limit, 0..1
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The answer of a comparison: what was measured, file by file, the first being the baseline."""

    sides: tuple[SideReport, ...]
    blocks: int


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
    sides: tuple[TrialNumber, ...]
    course: Course = AS_BUDGETED


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


Step = Enter | Settle | Measure | Succeed | Fail
"""One change that `study.decide` asks for; None in its place: wait until a host reports."""
