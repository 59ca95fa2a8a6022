"""The parts of a window: times, and figures of server, services, nginx and surroundings."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from tuner.nouns.model.base import about

_SUB_BUCKETS = 128  # of every power of two: two significant digits


@dataclass(frozen=True)
class Histogram:
    """Times in buckets less than 0.8 % wide, so that those of many windows add up.

    The bucket of a time of `us` microseconds: below 128 the number itself; above, the power of
    two and the next 7 bits, as in HdrHistogram with two significant digits.
    """

    counts: Annotated[
        Mapping[int, int],
        about(
            "requests by bucket of their time: below 128 the bucket is the time in microseconds; "
            "above, it holds the power of two and the next 7 bits"
        ),
    ] = field(default_factory=dict)

    @staticmethod
    def middle_ms(bucket: int) -> float:
        """The middle of a bucket, in milliseconds."""
        if bucket < _SUB_BUCKETS:
            return bucket / 1000
        shift, rest = bucket // _SUB_BUCKETS - 1, bucket % _SUB_BUCKETS
        return (rest + _SUB_BUCKETS + 0.5) * (1 << shift) / 1000

    @classmethod
    def merged(cls, parts: Iterable["Histogram"]) -> "Histogram":
        """The times of all parts together."""
        total: Counter[int] = Counter()
        for part in parts:
            total.update(part.counts)
        return cls(total)

    @property
    def total(self) -> int:
        """How many times it holds."""
        return sum(self.counts.values())

    @property
    def mean_ms(self) -> float | None:
        """The mean of all times; None where there is none."""
        times_ms = sum(self.middle_ms(bucket) * count for bucket, count in self.counts.items())
        return times_ms / self.total if self.total else None

    def percentile_ms(self, share: float) -> float | None:
        """The time that `share` (0..1) of all times do not exceed; None where there is none."""
        wanted, seen = math.ceil(share * self.total), 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= max(1, wanted):
                return self.middle_ms(bucket)
        return None


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A time within one window."""

    p50_ms: Annotated[float, about("median")]
    p95_ms: Annotated[float, about("95th percentile")]
    max_ms: Annotated[float, about("the longest")]


@dataclass(frozen=True, kw_only=True)
class ProxyTimes:
    """What nginx in front of uWSGI's socket logged in one window."""

    requests: Annotated[int, about("lines in its log")]
    by_status: Annotated[
        Mapping[str, int], about("requests by status, as in 200, 502; 499: the client gave up")
    ]
    connect: Annotated[Spread, about("until uWSGI took the connection from the listen queue")]
    header: Annotated[Spread, about("until the first byte of the answer")]
    response: Annotated[Spread, about("until the last byte of the answer")]
    request: Annotated[Spread, about("as the client sees it")]


@dataclass(frozen=True, kw_only=True)
class ServerFigures:
    """The target from inside. CPU shares are of one core; null: it could not be measured."""

    busiest_process: Annotated[float | None, about("CPU of the busiest uWSGI process")] = None
    router: Annotated[float | None, about("CPU of the http router's busiest process")] = None
    master: Annotated[float | None, about("CPU of uWSGI's master")] = None
    system_share: Annotated[float | None, about("share of CPU time in the kernel, 0..1")] = None
    switches_per_request: Annotated[float | None, about("context switches of uWSGI")] = None
    queue_p95: Annotated[
        float | None, about("filled share of the listen queue, 95th percentile, 0..1")
    ] = None
    queue_max: Annotated[int | None, about("most connections that waited in it")] = None
    queue_size: Annotated[int | None, about("its size: `listen`, cut by somaxconn")] = None
    memory_peak_mb: Annotated[float | None, about("since the start, page cache included")] = None
    oom_kills: Annotated[int, about("processes that the kernel killed for memory")] = 0
    cores: Annotated[float | None, about("CPUs that the target kept busy")] = None
    connections_per_request: Annotated[
        float | None, about("connections that the client opened, as the kernel counted them")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ServiceFigures:
    """A service beside the app in one window. null: it could not be measured."""

    cores: Annotated[float, about("CPUs that the service kept busy")]
    cpu: Annotated[
        float | None, about("share in use of the CPU that it may have: its limit or CPUs, 0..1")
    ] = None
    is_limit_of_bench: Annotated[
        bool, about("whether these CPUs are fewer than it may have in production")
    ] = False
    throttled: Annotated[
        float | None, about("share of CFS periods in which its CPU quota ran out, 0..1")
    ] = None
    rtt_ms: Annotated[
        float | None, about("round trip from the app, in ms, as measured before the load")
    ] = None
    memory_mb: Annotated[float, about("its working set at the end")]
    written_mb: Annotated[float | None, about("to disk since the arm's start, at the end")] = None
    oom_kills: Annotated[int, about("processes that the kernel killed for memory")] = 0


@dataclass(frozen=True, kw_only=True)
class UsageSeries:
    """The app or a service in one window, per 0.25 s since the load began."""

    cores: Annotated[tuple[float, ...], about("CPUs that it kept busy")] = ()
    memory_mb: Annotated[tuple[float, ...], about("its working set in the middle of the step")] = ()


@dataclass(frozen=True, kw_only=True)
class OverTime:
    """How one window went, per 0.25 s since the load began, head included.

    Only whole steps count, up to the last answer.
    """

    queue: Annotated[
        tuple[int, ...], about("most connections that waited in the listen queue")
    ] = ()
    usage: Annotated[
        Mapping[str, UsageSeries], about("by name: `app`, and the services beside it")
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The host around target and load generator. null: it could not be measured."""

    steal: Annotated[float | None, about("share of CPU time that the hypervisor took, 0..1")] = None
    foreign_cpu: Annotated[float | None, about("CPUs kept busy by other programs")] = None
    engine_cpu: Annotated[
        float | None, about("CPUs kept busy by the container engine, which takes the log")
    ] = None
    pressure: Annotated[
        float | None, about("share of time in which something waited for a CPU, 0..1")
    ] = None
    cpu_speed: Annotated[
        float | None,
        about(
            "steps of a loop per microsecond that the target's CPU counted beside it;"
            " null: the target has several CPUs, or shares its own"
        ),
    ] = None
    with_services: Annotated[
        float | None,
        about("share in use of the CPUs that target and services share, 0..1; null: they do not"),
    ] = None
    generator_with_services: Annotated[
        float | None,
        about("share in use of the CPUs of load generator and services, 0..1; null: not shared"),
    ] = None
    refusal: Annotated[
        str | None,
        about("where requests failed: a log line by which a service refused connections"),
    ] = None
