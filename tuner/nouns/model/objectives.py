"""What people want of a job: the metrics to improve, and the bounds to keep."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tuner.nouns.model.base import Document


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
