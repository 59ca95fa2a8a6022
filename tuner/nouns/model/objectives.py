"""What people want of a job: metrics, bounds, and what may be varied within which limits."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from tuner.nouns.model import limits
from tuner.nouns.model.base import Document

# ---- What people want of a job: the metrics to improve, and the bounds to keep


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


NO_CAPACITY = (
    "a tuning job does not search for capacity yet: tune for throughput_rps with a closed_loop, or"
    " for latency_p95_ms with an open_loop, then compare the two files with `tuner capacity`"
)


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

    @field_validator("maximize", mode="before")
    @classmethod
    def _is_no_capacity(cls, given: object) -> object:
        if given == "capacity_rps":
            raise ValueError(NO_CAPACITY)
        return given

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

    @property
    def late_s(self) -> float | None:
        """Seconds after which an answer is late: the longest latency that has a bound in ms."""
        given = (self.latency_p50_ms, self.latency_p95_ms, self.latency_p99_ms)
        times_ms = [bound for bound in given if isinstance(bound, float | int)]
        return max(times_ms) / 1000 if times_ms else None


# ---- The search-space document: what may be varied, within which bounds, on which conditions
#
# Bounds and conditions are small arithmetic expressions over the job's own numbers (`cpus`,
# `memory_mb`, `somaxconn`, `concurrency`, ...), so that one file serves every size of box.
# `tuner.targets.search_space` gives them their meaning; this module only says what may be written.

Scalar = bool | int | str
"""A parameter's value. `bool` stands first: it must not be read as an int."""

Params = Mapping[str, Scalar]
"""Values by parameter name of the search space, as in `{"processes": 4, "logging": "user"}`."""

Expression = int | bool | Annotated[str, Field(max_length=500)]
"""A number, or arithmetic such as `min(max(4, 4 * ceil(cpus)), 64)`."""

OptionName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
"""A name that may stand before the `=` of a uwsgi.ini: one word, so that it is one line."""

Setting = bool | int | Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{0,500}$")]
"""What may stand behind the `=`: no control characters, so that it stays one line."""


class OwnValue(Document):
    """The value that the user's file gives another option."""

    of: OptionName = Field(description="the option of the file; it has to be there once")


Emitted = Setting | OwnValue | None
"""What a choice makes of an option: a value, the value of another option, or None: taken out."""


class _Parameter(Document):
    when: Expression = Field(True, description="searched only where this holds for the job")
    needs: Expression = Field(True, description="meaningful only where this holds for the others")
    note: str = Field("", max_length=500, description="what else it changes, for people")


class IntParameter(_Parameter):
    """A whole number between two derived bounds; `log: true` for what scales by ratio."""

    type: Literal["int"] = Field(description="a whole number")
    low: Expression = Field(description="least value")
    high: Expression = Field(description="greatest value")
    log: bool = Field(False, description="searched by ratio")


class ChoiceParameter(_Parameter):
    """One of some values; `emit` says which options a value stands for, where it is not itself."""

    type: Literal["choice"] = Field(description="one of some values")
    values: tuple[Expression, ...] = Field(
        min_length=1, max_length=64, description="the values to choose from"
    )
    emit: dict[str, dict[OptionName, Emitted]] = Field(
        {},
        description="the options and kernel settings that a value stands for, by value; "
        "an option at null comes out of the file",
    )

    @field_validator("emit")
    @classmethod
    def _sets_what_a_container_has(
        cls, given: dict[str, dict[str, Emitted]]
    ) -> dict[str, dict[str, Emitted]]:
        return {
            value: {
                **options,
                **limits.settled({n: v for n, v in options.items() if limits.is_sysctl(n)}),
            }
            for value, options in given.items()
        }


class BoolParameter(_Parameter):
    """On or off."""

    type: Literal["bool"] = Field(description="on or off")


Parameter = Annotated[IntParameter | ChoiceParameter | BoolParameter, Field(discriminator="type")]


class Constraint(Document):
    """A rule with what to say where it does not hold."""

    rule: str = Field(max_length=500, description="an expression that has to hold")
    reason: str = Field(max_length=500, description="what to say where it does not")


class SearchSpace(Document):
    """One `search_spaces/*.yaml`, or the same inline in a job."""

    name: str = Field("inline", description="jobs name the space by it")
    description: str = Field("", description="the purpose of the space")
    requires: tuple[Constraint, ...] = Field(
        (),
        max_length=16,
        description="rules over the job; one that does not hold refuses the space",
    )
    parameters: dict[OptionName, Parameter] = Field(
        min_length=1, max_length=32, description="what the search varies, by name"
    )
    constraints: tuple[Constraint, ...] = Field(
        (),
        max_length=64,
        description="rules over the parameters together; what breaks one is never started",
    )
    heuristics: tuple[dict[str, Expression], ...] = Field(
        (),
        max_length=32,
        description="what experts would try first; measured before the sampler is asked",
    )
