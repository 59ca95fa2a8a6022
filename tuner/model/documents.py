"""What people write: the job request and its parts, checked as a whole.

These are pydantic models because they come from outside: unknown fields are errors, and all
mistakes are reported at once, each with its path. Everything downstream works on `JobSpec`, in
which every default has been filled in.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from tuner.model.document import Document, Name
from tuner.model.spaces import SearchSpace
from tuner.model.workloads import ClosedLoop, UrlPath, Workload


class Metric(StrEnum):
    """What a window is judged by; the unit is part of the name."""

    THROUGHPUT_RPS = "throughput_rps"
    LATENCY_P50_MS = "latency_p50_ms"
    LATENCY_P95_MS = "latency_p95_ms"
    LATENCY_P99_MS = "latency_p99_ms"
    ERROR_RATE = "error_rate"
    MEMORY_MB = "memory_mb"


class Limits(Document):
    """The box that production gives the app; every container of a trial gets the same."""

    cpus: float = Field(1.0, gt=0, le=256, description="CPU quota, in cores")
    memory_mb: int = Field(512, ge=16, le=1_048_576, description="hard memory limit, no swap")
    somaxconn: int = Field(
        4096, ge=16, le=65_535, description="net.core.somaxconn of production's network namespace"
    )


class Objective(Document):
    """The one metric to improve: either `maximize` or `minimize` is set."""

    maximize: Literal[Metric.THROUGHPUT_RPS] | None = None
    minimize: (
        Literal[
            Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS, Metric.LATENCY_P99_MS, Metric.MEMORY_MB
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.maximize is None) == (self.minimize is None):
            raise ValueError("give either maximize or minimize")
        return self

    @property
    def metric(self) -> Metric:
        """The metric, whichever the direction."""
        metric = self.maximize or self.minimize
        assert metric is not None  # noqa: S101  the validator above guarantees it
        return Metric(metric)

    @property
    def sign(self) -> int:
        """+1 where more is better, -1 where less is."""
        return 1 if self.maximize else -1


class RelativeBound(Document):
    """A bound as a multiple of the baseline's own value in the same block."""

    relative_to_baseline: float = Field(gt=0)


Bound = Annotated[float, Field(ge=0)] | RelativeBound


class Slo(Document):
    """Upper bounds that a recommended file must keep; none is ever traded for the objective."""

    latency_p50_ms: Bound | None = None
    latency_p95_ms: Bound | None = None
    latency_p99_ms: Bound | None = None
    error_rate: Bound | None = None
    memory_mb: Bound | None = None

    def bounds(self) -> dict[Metric, float | RelativeBound]:
        """The bounds that were given."""
        named = ((Metric(name), getattr(self, name)) for name in type(self).model_fields)
        return {metric: bound for metric, bound in named if bound is not None}


class Budget(Document):
    """How much measuring a job may do. Times are seconds of load; starts come on top."""

    trials: int = Field(ge=0, le=1000, description="candidates tried in the search")
    calibrate_blocks: int = Field(2, ge=2, le=64, description="A/A blocks before the search")
    confirm_blocks: int = Field(ge=0, le=256, description="fresh blocks for the verdict")
    compare_blocks: int = Field(0, ge=0, le=256, description="blocks of a comparison")
    cycles: int = Field(2, ge=1, le=64, description="windows of each side in one block")
    window_s: float = Field(2.0, ge=0.5, le=120)
    warmup_s: float = Field(1.0, ge=0, le=120)
    minutes: float | None = Field(
        None, gt=0, le=1440, description="stop the search early to end within this"
    )

    @property
    def block_load_s(self) -> float:
        """Seconds of load in one block of two sides, warm-up included."""
        return 2 * (self.warmup_s + self.cycles * self.window_s)


PRESETS = {
    "demo": Budget(trials=8, confirm_blocks=8, cycles=2, window_s=1.5, warmup_s=1.0),
    "quick": Budget(
        trials=16, calibrate_blocks=4, confirm_blocks=16, cycles=2, window_s=2.5, warmup_s=1.5
    ),
    "standard": Budget(
        trials=30, calibrate_blocks=4, confirm_blocks=32, cycles=4, window_s=2.5, warmup_s=3.0
    ),
    "thorough": Budget(
        trials=60, calibrate_blocks=8, confirm_blocks=80, cycles=4, window_s=2.5, warmup_s=3.0
    ),
}
"""Budgets by name; the figures behind them are in the README."""


class PresetBudget(Document):
    """A budget by name, optionally with some of its numbers replaced."""

    preset: Literal["demo", "quick", "standard", "thorough"] = "quick"
    trials: int | None = Field(None, ge=1, le=1000)
    calibrate_blocks: int | None = Field(None, ge=2, le=64)
    confirm_blocks: int | None = Field(None, ge=4, le=256)
    cycles: int | None = Field(None, ge=1, le=64)
    window_s: float | None = Field(None, ge=0.5, le=120)
    warmup_s: float | None = Field(None, ge=0, le=120)
    minutes: float | None = Field(None, gt=0, le=1440)

    def resolve(self) -> Budget:
        """The preset's numbers with the given ones in their place."""
        given = self.model_dump(exclude={"preset"}, exclude_none=True)
        return PRESETS[self.preset].model_copy(update=given)


class TargetRequest(Document):
    """What to tune: a described target app by name, or any image."""

    target_app: str | None = None
    image: str | None = Field(None, min_length=1, max_length=500)
    port: int = Field(8000, ge=1, le=65_535)
    health_path: UrlPath = "/"
    command: tuple[str, ...] | None = None
    thread_safe: bool = False

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.target_app is None) == (self.image is None):
            raise ValueError("give either target_app or image")
        if self.target_app is not None and self.model_fields_set - {"target_app"}:
            raise ValueError(
                "a target_app brings its own port, path and command; give image instead"
            )
        return self


class JobRequest(Document):
    """The body of `POST /v1/jobs`, and the file that `tuner submit` reads."""

    app: Name
    target: TargetRequest
    baseline_ini: str | None = Field(None, max_length=200_000)
    limits: Limits | None = None
    workload: Workload | None = None
    objective: Objective = Objective(maximize=Metric.THROUGHPUT_RPS)
    slo: Slo = Slo()
    search_space: str | SearchSpace = "default"
    budget: PresetBudget = PresetBudget()
    min_effect: float = Field(0.02, gt=0, lt=1, description="smallest gain worth a deployment")
    pool: Name = "default"
    seed: int = Field(1, ge=0, le=2**31 - 1)


DEFAULT_COMMAND = ("uwsgi", "--ini", "{ini}")


class TargetApp(Document):
    """`target_apps/<name>/target.yaml`."""

    name: Name
    description: str
    build: str | None = None
    image: str | None = None
    port: int = Field(8000, ge=1, le=65_535)
    health_path: UrlPath = "/"
    uwsgi_ini: str = "uwsgi.ini"
    command: tuple[str, ...] = DEFAULT_COMMAND
    thread_safe: bool = False
    memory_per_process_mb: int = Field(32, ge=1, description="rough; measured before the search")
    limits: Limits = Limits()
    workload: Workload = ClosedLoop()

    @field_validator("command")
    @classmethod
    def _names_the_ini(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        if not any("{ini}" in word for word in command):
            raise ValueError("one word must hold {ini}, or the trial's file would not be read")
        return command

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.build is None) == (self.image is None):
            raise ValueError("give either build (a folder with a Dockerfile) or image")
        return self


class Target(Document):
    """A target with everything known that a benchmark host needs to start it.

    `target_app` names the folder to build from where `image` is None: every host of a pool
    has the same target apps, and builds on first use.
    """

    target_app: str | None = None
    image: str | None = None
    port: int
    health_path: str
    command: tuple[str, ...]
    thread_safe: bool
    memory_per_process_mb: int

    @property
    def name(self) -> str:
        """What a person would call it."""
        return self.target_app or self.image or "unnamed"


class Variant(Document):
    """A uwsgi.ini under a name, as one side of a comparison."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
    ini: str = Field(max_length=200_000)


class JobKind(StrEnum):
    """What is wanted of a job."""

    TUNE = "tune"  # find the file to deploy
    COMPARE = "compare"  # measure the given files, and say how they differ
    CALIBRATE = "calibrate"  # measure one file against itself: what this host can tell apart


class JobSpec(Document):
    """A job request with every default filled in: all that the study ever asks about a job.

    `variants` are the files of a comparison, the first one being the baseline; empty otherwise.
    """

    kind: JobKind = JobKind.TUNE
    variants: tuple[Variant, ...] = ()
    app: str
    target: Target
    baseline_ini: str
    limits: Limits
    workload: Workload
    objective: Objective
    slo: Slo
    search_space: SearchSpace | None  # None where nothing is varied
    budget: Budget
    min_effect: float
    pool: str
    seed: int

    @property
    def metrics(self) -> frozenset[Metric]:
        """What the study ranks by and holds against bounds: windows must tell these."""
        return frozenset({self.objective.metric, *self.slo.bounds()})


def mistakes_of(error: Any) -> list[tuple[str, str]]:
    """Path and message of every error in a pydantic `ValidationError`, worded for people."""
    found = []
    for detail in error.errors():
        path = ".".join(str(part) for part in detail["loc"])
        message = detail["msg"].removeprefix("Value error, ")
        found.append((path, "unknown field" if detail["type"] == "extra_forbidden" else message))
    return found
