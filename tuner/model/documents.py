"""What people write: the job request and its parts, checked as a whole.

These are pydantic models because they come from outside: unknown fields are errors, and all
mistakes are reported at once, each with its path. Everything downstream works on `JobSpec`, in
which every default has been filled in.
"""

import shlex
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from tuner.model.budgets import Budget
from tuner.model.document import Document, Name
from tuner.model.http_requests import UrlPath
from tuner.model.images import ImageText
from tuner.model.limits import Limits
from tuner.model.needs import EnvName, EnvValue, File, FromFile, Needs
from tuner.model.preflight import Danger
from tuner.model.services import Backed
from tuner.model.spaces import Scalar, SearchSpace
from tuner.model.workloads import ClosedLoop, Workload


class Metric(StrEnum):
    """What a window is judged by; the unit is part of the name."""

    THROUGHPUT_RPS = "throughput_rps"
    LATENCY_P50_MS = "latency_p50_ms"
    LATENCY_P95_MS = "latency_p95_ms"
    LATENCY_P99_MS = "latency_p99_ms"
    ERROR_RATE = "error_rate"
    MEMORY_MB = "memory_mb"
    RPS_PER_CPU = "rps_per_cpu"  # answered as expected, per second and CPU kept busy
    TARGET_CPU = "target_cpu"  # share of the CPU limit in use
    MEMORY_PEAK_MB = "memory_peak_mb"  # since the start
    MB_PER_S = "mb_per_s"  # bodies of the answers
    CONNECTIONS_PER_REQUEST = "connections_per_request"  # that the client opened

    @property
    def sign(self) -> int:
        """+1 where more is better, -1 where less is."""
        more = (Metric.THROUGHPUT_RPS, Metric.RPS_PER_CPU, Metric.MB_PER_S)
        return 1 if self in more else -1

    @property
    def is_share(self) -> bool:
        """Whether its values are shares, which people read in percent."""
        return self in (Metric.ERROR_RATE, Metric.TARGET_CPU)


class Aim(Document):
    """A metric to improve: either `maximize` or `minimize` is set."""

    maximize: Literal[Metric.THROUGHPUT_RPS, Metric.RPS_PER_CPU] | None = Field(
        None, description="more is better"
    )
    minimize: (
        Literal[
            Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS, Metric.LATENCY_P99_MS, Metric.MEMORY_MB
        ]
        | None
    ) = Field(None, description="less is better")

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
        return self.metric.sign


class Objective(Aim):
    """The metric to improve; the file is confirmed by it.

    With `also` the search looks for all configurations in which no metric can be improved without
    another getting worse, and takes the one with the best of the others among those whose first
    metric is not clearly behind.
    """

    also: tuple[Aim, ...] = Field((), max_length=3, description="further metrics to improve")

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        metrics = [aim.metric for aim in self.aims]
        if len(set(metrics)) < len(metrics):
            raise ValueError("also names a metric twice")
        return self

    @property
    def aims(self) -> tuple[Aim, ...]:
        """All metrics to improve, the first being the one that confirms."""
        return (self, *self.also)


class RelativeBound(Document):
    """A bound as a multiple of the baseline's own value in the same block."""

    relative_to_baseline: float = Field(
        gt=0, description="1.1 is 10 % more than the baseline in the same block"
    )


Bound = Annotated[float, Field(ge=0)] | RelativeBound


class Slo(Document):
    """Bounds that a recommended file must keep; none is ever traded for the objective.

    `throughput_rps` is a lower bound, all others are upper ones.
    """

    latency_p50_ms: Bound | None = Field(None, description="most median latency")
    latency_p95_ms: Bound | None = Field(None, description="most p95 latency")
    latency_p99_ms: Bound | None = Field(None, description="most p99 latency")
    error_rate: Bound | None = Field(None, description="largest share of failed requests, 0..1")
    memory_mb: Bound | None = Field(None, description="most memory of the target")
    throughput_rps: Bound | None = Field(
        None,
        description="least throughput; default: 0.95 of the baseline's where the objective is "
        "memory_mb or rps_per_cpu, because a file that serves nothing needs no memory and no CPU",
    )

    def bounds(self) -> dict[Metric, float | RelativeBound]:
        """The bounds that were given."""
        named = ((Metric(name), getattr(self, name)) for name in type(self).model_fields)
        return {metric: bound for metric, bound in named if bound is not None}


class SamplerName(StrEnum):
    """Who proposes what to try next."""

    TPE = "tpe"  # tree-structured Parzen estimator (Optuna)
    GP = "gp"  # Gaussian process that knows how noisy each trial was


class _Serving(Needs, Backed):
    """How an app is reached, what its code allows, and what it needs."""

    port: int = Field(8000, ge=1, le=65_535, description="the port of the app in its container")
    host_header: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9._:\[\]-]{1,255}$",
        description="of every request without one; null: 127.0.0.1 with the port",
    )
    health_path: UrlPath = Field("/", description="answers 2xx once the app is ready")
    thread_safe: bool = Field(False, description="false: threads stay 1")
    gevent_ok: bool = Field(False, description="the image has gevent and the code supports it")
    ini_path: File | None = Field(
        None,
        description="the trial's file replaces this one, and the image's own ENTRYPOINT and CMD"
        " run; null: the command has {ini}",
    )

    @model_validator(mode="after")
    def _one_start(self) -> Self:
        given = "command" in self.model_fields_set and getattr(self, "command", None)
        if self.ini_path is not None and given:
            raise ValueError("with ini_path the image's own command runs: leave command out")
        return self

    @property
    def secret_files(self) -> set[str]:
        """The files beside target.yaml that hold secrets of the app and its services."""
        needs: list[Needs] = [self, *self.services.values()]
        sources = [source for each in needs for source in each.secrets.values()]
        return {source.file for source in sources if isinstance(source, FromFile)}


class TargetRequest(_Serving):
    """What to tune: a described target app by name, or any image."""

    target_app: str | None = Field(None, description="name of a described target app")
    image: ImageText | None = Field(None, description="a container image with uWSGI and the app")
    command: tuple[str, ...] | None = Field(
        None, description="starts uWSGI; {ini} stands for the trial's file"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.target_app is None) == (self.image is None):
            raise ValueError("give either target_app or image")
        if self.target_app is not None and self.model_fields_set - {"target_app"}:
            raise ValueError(
                "a target_app brings its own port, path and command; give image instead"
            )
        if self.image is not None:
            self.refuse_builds()
            self.refuse_copies()
        if self.secret_files:
            raise ValueError(
                f"secrets in {', '.join(sorted(self.secret_files))}: an app by image has no folder"
                " on the benchmark host; give {from_worker: NAME}"
            )
        return self


Allowed = Annotated[
    tuple[Danger, ...],
    Field(
        max_length=len(Danger),
        description="what options of the file may do besides serving; trials leave out all others",
    ),
]


DEFAULT_COMMAND = ("uwsgi", "--ini", "{ini}")


def reads_ini(command: Sequence[str]) -> bool:
    """Whether a command starts uWSGI with the file of a trial."""
    return any("{ini}" in word for word in command)


class TargetApp(_Serving):
    """`target_apps/<name>/target.yaml`."""

    name: Name
    description: str
    build: str | None = None
    image: ImageText | None = None
    uwsgi_ini: str = "uwsgi.ini"
    command: tuple[str, ...] = DEFAULT_COMMAND
    memory_per_process_mb: int = Field(32, ge=1, description="rough; measured before the search")
    limits: Limits = Limits()
    workload: Workload = ClosedLoop()

    @field_validator("command")
    @classmethod
    def _names_the_ini(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        if not reads_ini(command):
            raise ValueError("one word must hold {ini}, or the trial's file would not be read")
        return command

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.build is None) == (self.image is None):
            raise ValueError("give either build (a folder with a Dockerfile) or image")
        if self.image is not None:
            self.refuse_builds()
        return self


class Target(_Serving):
    """What a benchmark host needs to start an app.

    Without an `image`, the host builds that of `target_app` on first use. It reads secrets and
    folders to copy beside that app's target.yaml: all hosts of a pool have the same target apps.
    """

    target_app: str | None = Field(None, description="name of the described target app")
    image: str | None = Field(None, description="null: the image is built from the target app")
    command: tuple[str, ...] = Field(
        description="starts uWSGI; {ini} stands for the file; empty: the image's own"
    )
    memory_per_process_mb: int = Field(description="rough; measured before the search")

    @property
    def name(self) -> str:
        """What a person would call it."""
        return self.image or self.target_app or "unnamed"

    @property
    def is_uwsgi(self) -> bool:
        """Whether it runs the file of its arm; else it is another server."""
        return self.ini_path is not None or reads_ini(self.command)


class Variant(Document):
    """One arm of a comparison, in its box: a uwsgi.ini, or another server in the target's image."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")] = Field(
        description="stands for the arm in the report"
    )
    ini: str | None = Field(None, max_length=200_000, description="the text of the uwsgi.ini")
    command: tuple[str, ...] | None = Field(
        None,
        min_length=1,
        description="starts the server, without ini another than uWSGI; default: the target's",
    )
    port: int | None = Field(None, ge=1, le=65_535, description="default: the target's")
    env: dict[EnvName, EnvValue] = Field(
        {}, max_length=300, description="environment, besides the target's"
    )
    limits: Limits | None = Field(None, description="the box of this arm; default: the job's")

    @model_validator(mode="after")
    def _one_server(self) -> Self:
        if self.ini is None and self.command is None:
            raise ValueError("give ini, or the command of another server")
        if self.command is not None and reads_ini(self.command) != (self.ini is not None):
            raise ValueError("the command has {ini} exactly where the arm has an ini")
        return self

    @property
    def text(self) -> str:
        """What it runs: its file, else its command."""
        return self.ini if self.ini is not None else shlex.join(self.command or ())

    def target_in(self, given: "Target") -> "Target":
        """The target of this arm in a job for the target `given`."""
        changed: dict[str, Any] = {"env": {**given.env, **self.env}}
        if self.command is not None:
            changed |= {"command": self.command, "ini_path": None}
        if self.port is not None:
            changed["port"] = self.port
        return given.model_copy(update=changed)


CompareWith = Literal["first", "previous"]
"""The arm that an arm of a comparison is compared with; with the first one in any case."""


class JobKind(StrEnum):
    """What is wanted of a job."""

    TUNE = "tune"  # find the file to deploy
    COMPARE = "compare"  # measure the given files, and say how they differ
    CALIBRATE = "calibrate"  # measure one file against itself: what this host can tell apart


class JobSpec(Document):
    """A job request with every default filled in. The study reads nothing else about a job.

    `variants` are the arms of a comparison, the first one being the baseline; empty otherwise.
    `vary` names the options and limits of a grid. `limits` is the box of the baseline. `seeds` are
    values of parameters that earlier jobs of the app recommended. `own_bounds` names the metrics of
    `slo` that the tuner bounds, not the user. `allow` is what options of the files may do besides
    serving: trials leave out all others. `baseline_ini` is empty until the first host has read it
    out of the image, if it is there.
    """

    kind: JobKind = JobKind.TUNE
    variants: tuple[Variant, ...] = ()
    compare_with: CompareWith = "first"
    vary: tuple[str, ...] = ()
    app: str
    target: Target
    baseline_ini: str
    limits: Limits
    workload: Workload
    objective: Objective
    slo: Slo = Slo()
    own_bounds: tuple[Metric, ...] = ()
    max_slots: int | None = None  # processes x threads of every trial
    search_space: SearchSpace | None = None  # None where nothing is varied
    sampler: SamplerName = SamplerName.TPE  # what jobs had before there was a choice
    seeds: tuple[dict[str, Scalar], ...] = ()
    budget: Budget
    min_effect: float
    allow: Allowed = ()
    pool: str
    seed: int

    @property
    def awaits_file(self) -> bool:
        """The present file is in the image, and no host has read it yet."""
        return not (self.baseline_ini or self.variants) and self.target.ini_path is not None

    def with_file(self, text: str) -> Self:
        """The same job with the file that was in the image."""
        return self.model_copy(update={"baseline_ini": text})

    @property
    def targets(self) -> tuple[Target, ...]:
        """The target of each arm of a comparison; else that of all trials, alone."""
        return tuple(each.target_in(self.target) for each in self.variants) or (self.target,)

    @property
    def metrics(self) -> frozenset[Metric]:
        """What the study ranks by and holds against bounds: windows must tell these."""
        return frozenset({*(aim.metric for aim in self.objective.aims), *self.slo.bounds()})

    @property
    def boxes(self) -> tuple[Limits, ...]:
        """The box of each file of a comparison; else that of all trials, alone."""
        return tuple(each.limits or self.limits for each in self.variants) or (self.limits,)


def mistakes_of(error: Any) -> list[tuple[str, str]]:
    """Path and message of every error in a pydantic `ValidationError`, worded for people."""
    found = []
    for detail in error.errors():
        path = ".".join(str(part) for part in detail["loc"])
        message = detail["msg"].removeprefix("Value error, ")
        found.append((path, "unknown field" if detail["type"] == "extra_forbidden" else message))
    return found
