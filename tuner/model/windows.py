"""One stretch of load and its figures."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from tuner.model.documents import Metric
from tuner.model.doubts import Doubt
from tuner.model.limits import BYTES_PER_MB
from tuner.model.noun import about

SERIES_STEP_S = 0.25
"""Length of one step of a window's series."""

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
    throttled: Annotated[
        float | None, about("share of CFS periods in which its CPU quota ran out, 0..1")
    ] = None
    memory_mb: Annotated[float, about("its working set at the end")]
    written_mb: Annotated[float | None, about("to disk since the arm's start, at the end")] = None
    oom_kills: Annotated[int, about("processes that the kernel killed for memory")] = 0


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
    with_services: Annotated[
        float | None,
        about("share in use of the CPUs that target and services share, 0..1; null: they do not"),
    ] = None
    refusal: Annotated[
        str | None,
        about("where requests failed: a log line by which a service refused connections"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RequestFigures:
    """One of several requests: in one run of load, or in many together.

    `sent`, `failed` and `over_limit` are of the whole run; the times are of successful requests
    after the head, as in `Answered`.
    """

    request: Annotated[int, about("its place among the requests of the workload, from 0")]
    sent: Annotated[
        int,
        about("requests sent; in a load of oha answered ones, because it does not name the others"),
    ]
    failed: Annotated[int, about("those that were not answered as expected")]
    over_limit: Annotated[
        int | None, about("those not answered as expected within limit_s; null: there is no limit")
    ] = None
    p50_ms: Annotated[float | None, about("median latency; null: no request succeeded")] = None
    p95_ms: Annotated[float | None, about("95th percentile of latency")] = None
    max_ms: Annotated[float | None, about("the longest latency")] = None
    histogram: Annotated[Histogram, about("the latencies, so that those of windows add up")] = (
        Histogram()
    )


def by_request(windows: Iterable["Window"]) -> tuple[RequestFigures, ...]:
    """The figures of each request over all windows, in the order of the workload."""
    parts: dict[int, list[RequestFigures]] = {}
    for window in windows:
        for found in window.by_request:
            parts.setdefault(found.request, []).append(found)
    return tuple(_together(request, found) for request, found in sorted(parts.items()))


def _together(request: int, parts: list[RequestFigures]) -> RequestFigures:
    """The sum of a request's figures; percentiles do not add up, so they are of all times.

    The middle of a bucket may be above all its times: no percentile is above the longest.
    """
    times = Histogram.merged(part.histogram for part in parts)
    longest = max((part.max_ms for part in parts if part.max_ms is not None), default=None)
    p50, p95 = (times.percentile_ms(share) for share in (0.50, 0.95))
    limits = [part.over_limit for part in parts if part.over_limit is not None]
    return RequestFigures(
        request=request,
        sent=sum(part.sent for part in parts),
        failed=sum(part.failed for part in parts),
        over_limit=sum(limits) if limits else None,
        p50_ms=p50 if p50 is None or longest is None else min(p50, longest),
        p95_ms=p95 if p95 is None or longest is None else min(p95, longest),
        max_ms=longest,
        histogram=times,
    )


@dataclass(frozen=True, kw_only=True)
class Answered:
    """The requests that were answered in one run of load, as the probe prints them.

    The head of the run is discarded: all but `series` is of the `duration_s` after it. Latencies
    are of successful requests only, and null where there was none. In a closed loop they are
    service times (from sending). In an open loop they count from when a request was due. In bursts
    and journeys they include the connect.
    """

    duration_s: Annotated[float, about("seconds of load that count, after the discarded head")]
    requests: Annotated[int, about("answered as expected")]
    latency_p50_ms: Annotated[float | None, about("median latency of successful requests")] = None
    latency_p95_ms: Annotated[float | None, about("95th percentile of latency")] = None
    latency_p99_ms: Annotated[float | None, about("99th percentile of latency")] = None
    body_bytes: Annotated[
        int | None, about("bytes in the bodies of these answers; null: the client does not say")
    ] = None
    stalled: Annotated[int, about("connections without one answer in the whole stretch")]
    series: Annotated[
        tuple[int, ...], about("answered as expected, per 0.25 s, head included")
    ] = ()
    histogram: Annotated[Histogram, about("latencies of successful requests")] = Histogram()
    by_request: Annotated[
        tuple[RequestFigures, ...],
        about("request by request, the first 50 of a journey or a mix; empty: there is only one"),
    ] = ()


@dataclass(frozen=True, kw_only=True)
class ClientFigures(Answered):
    """What client, proxy and kernel count in one run of load.

    `sent` and `errors_by_class` are of the whole run, head and late answers included, because the
    client does not say when an error happened.
    """

    started_at: Annotated[datetime, about("when the load began")]
    sent: Annotated[int, about("requests that the client sent in the whole run")]
    errors_by_class: Annotated[
        Mapping[str, int], about("failed requests, as in http_502, refused, reset, read_timeout")
    ]
    listen_overflows: Annotated[int, about("connections that the kernel dropped at a full queue")]
    time_wait: Annotated[int, about("sockets in TIME_WAIT at the end")]
    over_limit: Annotated[
        float | None, about("share of requests not answered within limit_s, 0..1")
    ] = None
    connect: Annotated[Spread | None, about("the client's own connects")] = None
    proxy: Annotated[ProxyTimes | None, about("what nginx logged, where it is in front")] = None


@dataclass(frozen=True, kw_only=True)
class Window(ClientFigures):
    """One stretch of load against one arm of a block: the raw data of every statistic.

    The fields are declared here and nowhere else: the columns of the table `windows`, the JSON of
    the API and the answer of the client follow from them. `docs/measuring.md` says how to add one.
    """

    index: Annotated[int, about("order within the block, over all arms")]
    arm: Annotated[int, about("which arm of the block")]
    errors: Annotated[int, about("requests of the whole run that failed")]
    throughput_rps: Annotated[float, about("answered as expected, per second")]
    memory_mb: Annotated[float | None, about("the target's working set at the end")] = None
    served: Annotated[int | None, about("requests by uWSGI's own counter, over the whole run")] = (
        None
    )
    respawns: Annotated[int, about("uWSGI processes replaced while the window ran")]
    client_cpu: Annotated[float, about("share of the load generator's CPUs in use, 0..1")]
    target_cpu: Annotated[float | None, about("share of the target's CPU limit in use, 0..1")] = (
        None
    )
    throttled: Annotated[
        float | None, about("share of CFS periods in which the CPU quota ran out, 0..1")
    ] = None
    busy: Annotated[
        float | None, about("share of uWSGI's slots (processes * threads) busy, 0..1")
    ] = None
    connections: Annotated[int, about("most connections that the load kept open")]
    server: Annotated[ServerFigures, about("the target from inside")] = ServerFigures()
    services: Annotated[
        Mapping[str, ServiceFigures], about("what runs beside the target, by name")
    ] = field(default_factory=dict)
    surroundings: Annotated[Surroundings, about("the host around it")] = Surroundings()
    doubts: Annotated[tuple[Doubt, ...], about("reasons not to trust this window")] = ()

    @property
    def error_rate(self) -> float:
        """Share of the requests of the run that failed, 0..1; 1 where nothing was sent."""
        sent = max(self.sent, self.requests + self.errors)
        return self.errors / sent if sent else 1.0

    @property
    def is_void(self) -> bool:
        """Whether a doubt makes the window worthless."""
        return any(doubt.voids for doubt in self.doubts)

    @property
    def rps_per_cpu(self) -> float | None:
        """Answered as expected, per second and CPU kept busy; None where CPU was not measured."""
        return self.throughput_rps / self.server.cores if self.server.cores else None

    @property
    def mb_per_s(self) -> float | None:
        """Bodies of the answers, per second; None where the client does not say."""
        return None if self.body_bytes is None else self.body_bytes / BYTES_PER_MB / self.duration_s

    def value(self, metric: Metric) -> float | None:
        """The window's value of `metric`, None where it has none."""
        holder = self.server if hasattr(self.server, metric.value) else self
        found: float | None = getattr(holder, metric.value)
        return found
