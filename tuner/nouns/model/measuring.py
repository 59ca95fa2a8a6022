"""What a benchmark host hands back: windows, their doubts, and what failed.

A **window** is one stretch of load with one value per metric. A **measurement** is one piece of
work for a host; of kind `block` it holds fresh starts of every arm and their windows in shuffled
alternation. The block is the unit of replication: windows within one start are not independent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, NewType

from tuner.nouns.model.base import about
from tuner.nouns.model.conditions import Condition, Scene, SceneRun
from tuner.nouns.model.objectives import Metric
from tuner.nouns.model.targets import Preflight
from tuner.nouns.model.windows import Window, counted
from tuner.nouns.model.workloads import Rung

JobId = NewType("JobId", int)
MeasurementId = NewType("MeasurementId", int)
TrialNumber = NewType("TrialNumber", int)

BASELINE = TrialNumber(0)
"""The user's own file is trial 0 of every job."""


class FailureCode(StrEnum):
    """Why a measurement ended without a result."""

    IMAGE_MISSING = "image_missing"  # it is neither here nor to be had
    BUILD_FAILED = "build_failed"
    BAD_OPTIONS = "bad_options"  # uWSGI refuses the file (exit 1)
    APP_FAILED = "app_failed"  # the app's import failed (uWSGI exit 22)
    NOT_STARTED = "not_started"  # the container ended at once
    NOT_READY = "not_ready"  # no HTTP 200 with every process accepting, in time
    SERVICE_FAILED = "service_failed"  # what runs beside the app did not get ready
    PREPARE_FAILED = "prepare_failed"  # a step that fills the data, or the file is not in the image
    ERRORS_ONLY = "errors_only"  # it answers, but never with 2xx
    DIED = "died"  # processes kept dying under load
    WORKLOAD_REFUSED = "workload_refused"  # this target or this host cannot carry the workload
    OUT_OF_MEMORY = "out_of_memory"
    OUT_OF_DISK = "out_of_disk"  # the container wrote more to disk than it may
    INFRASTRUCTURE = "infrastructure"  # the host's fault, and repeating did not help
    INTERNAL = "internal"  # a fault of the tuner itself; its log has the traceback


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a job, a trial or a measurement ended without a result."""

    code: Annotated[FailureCode, about("the kind of failure")]
    message: Annotated[str, about("the reason in a sentence")]
    arm: Annotated[int, about("the arm of the block that failed; 0 where no arm did")] = 0
    log_tail: Annotated[str, about("the container's last lines; may be empty")] = ""


HOST_IS_STALE_AFTER = timedelta(seconds=20)
"""A host without a sign of life for this long is gone. Longer than its worker takes to stop."""


@dataclass(frozen=True, kw_only=True)
class HostFingerprint:
    """Raw figures of two hosts may be compared only if these are equal."""

    cpu_model: Annotated[str, about("as the kernel names it")]
    cpus: Annotated[int, about("online CPUs")]
    memory_mb: Annotated[int, about("RAM")]
    kernel: Annotated[str, about("release of the kernel")]
    cgroup_version: Annotated[int, about("1 or 2")]
    docker_version: Annotated[str, about("release of the engine")]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLine:
    """Memory of the target: base + processes * (per process + threads * per thread).

    `prepare` fits it to two short runs, the search to all trials.
    """

    base_mb: float
    per_process_mb: float
    per_thread_mb: float = 0.0

    def needed_mb(self, processes: float, threads: float) -> float:
        """Memory of `processes` with `threads` each."""
        return self.base_mb + processes * (self.per_process_mb + threads * self.per_thread_mb)

    def processes_within(self, memory_mb: float) -> int:
        """The largest number of processes that fits, never below 1."""
        if self.per_process_mb <= 0:
            return 1_000_000
        return max(1, int((memory_mb - self.base_mb) / self.per_process_mb))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The image that all hosts run for an arm, and what its data are made of; None: unknown."""

    image_digest: str | None = None
    data_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """What `prepare` found out about the target.

    `images` has those of all arms by the names of their targets, where these differ.
    """

    image_digest: str
    uwsgi_version: str
    options: tuple[str, ...]  # every option name that this build of uWSGI knows
    fingerprint: HostFingerprint
    memory: MemoryLine
    data_sha256: str | None = None  # of what the app's data are made of; None without data
    topology: str = "http_socket"  # a `uwsgi.topology.Topology` value
    effective_ini: str = ""  # the merged options that uWSGI itself printed of the baseline
    nofile: int | None = None  # open files that the target may have
    preflight: Preflight | None = None  # what was seen of the user's file; None in older rows
    command: tuple[str, ...] = ()  # ENTRYPOINT and CMD of the image, if they start the target
    images: Mapping[str, Resolved] = field(default_factory=dict)

    def resolved(self, name: str) -> Resolved:
        """The image and the data of the target of that name in this job."""
        if not self.images:
            return Resolved(image_digest=self.image_digest, data_sha256=self.data_sha256)
        return self.images.get(name, Resolved())


class MeasurementKind(StrEnum):
    """What a host is asked to do."""

    PREPARE = "prepare"
    BLOCK = "block"


class MeasurementState(StrEnum):
    """Where a measurement stands."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Futility:
    """When to stop a block of (baseline, candidate): once the candidate cannot win any more.

    `best` is the gain of the best candidate so far (log ratio of `metric` to the baseline, signed
    so that more is better), `sd` the standard deviation of the log ratio of one cycle.
    """

    metric: Metric
    best: float
    sd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockOptions:
    """What is asked of one block otherwise than the job's budget and workload say."""

    cycles: int | None = None
    futility: Futility | None = None
    rung: Rung | None = None  # the only one that it measures
    lengthens: bool = False  # windows last longer where requests take long
    condition: Condition | None = None  # under which it runs, unlike the job
    scenes: tuple[Scene, ...] = ()  # played instead of windows


AS_BUDGETED = BlockOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementResult:
    """What a host found: `facts` for a prepare, `windows` or `scene_runs` for a block.

    `setup_s` counts container start, readiness and removal; `load_s` counts driving load,
    warm-up included. `ini_sha256` names the file that each arm really ran, in the order of arms.
    `image_digest` is the image of all arms. `baseline_ini` is the user's file, if a prepare read it
    out of the image.
    """

    windows: tuple[Window, ...] = ()
    facts: TargetFacts | None = None
    setup_s: float = 0.0
    load_s: float = 0.0
    ready_s: tuple[float, ...] = ()  # container start to ready, one per arm
    ini_sha256: tuple[str, ...] = ()
    effective_ini: tuple[str, ...] = ()  # what uWSGI itself says that it runs, one per arm
    warmup_s: tuple[float, ...] = ()  # load until steady, one per arm
    is_cut_short: bool = False  # stopped by its futility rule
    image_digest: str | None = None  # None if nothing was resolved
    baseline_ini: str | None = None
    scene_runs: tuple[SceneRun, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One piece of work for a host, and what came of it."""

    id: MeasurementId
    job_id: JobId
    sequence: int  # unique within the job: asking twice for the same work makes it once
    kind: MeasurementKind
    phase: str
    arms: tuple[TrialNumber, ...]
    state: MeasurementState
    attempt: int
    host: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    result: MeasurementResult | None = None
    failure: Failure | None = None
    block_options: BlockOptions = AS_BUDGETED

    @property
    def windows(self) -> tuple[Window, ...]:
        """Its windows; none until it is complete."""
        return self.result.windows if self.result else ()

    @property
    def counted(self) -> tuple[Window, ...]:
        """The windows that figures are taken of: all that are not void."""
        return counted(self.windows)

    def windows_of(self, number: TrialNumber) -> list[Window]:
        """The windows of one trial or, in a comparison, of one file; also void ones."""
        return [window for window in self.windows if self.arms[window.arm] == number]

    def counted_of(self, number: TrialNumber) -> list[Window]:
        """Those of them that are not void."""
        return [window for window in self.counted if self.arms[window.arm] == number]

    @property
    def broken_trial(self) -> TrialNumber | None:
        """The trial whose configuration ended it."""
        if self.failure is None or not self.arms:
            return None
        return self.arms[self.failure.arm]

    @property
    def is_open(self) -> bool:
        """Whether a host has still to finish it."""
        return self.state in (MeasurementState.QUEUED, MeasurementState.RUNNING)
