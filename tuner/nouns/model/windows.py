"""One stretch of load and its figures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from tuner.nouns.model.base import about
from tuner.nouns.model.doubts import Doubt
from tuner.nouns.model.figures import (
    Histogram,
    OverTime,
    ProxyTimes,
    ServerFigures,
    ServiceFigures,
    Spread,
    Surroundings,
)
from tuner.nouns.model.objectives import Metric
from tuner.nouns.plain import BYTES_PER_MB

SERIES_STEP_S = 0.25
"""Length of one step of a window's series."""

_NO_LATENCIES = Histogram()
_NOT_WATCHED = OverTime()
_NOT_SEEN = ServerFigures()
_NOT_KNOWN = Surroundings()


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
        _NO_LATENCIES
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
    histogram: Annotated[Histogram, about("latencies of successful requests")] = _NO_LATENCIES
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
    over_time: Annotated[
        OverTime, about("CPU and memory of app and services, and the listen queue, per 0.25 s")
    ] = _NOT_WATCHED


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
    server: Annotated[ServerFigures, about("the target from inside")] = _NOT_SEEN
    services: Annotated[
        Mapping[str, ServiceFigures], about("what runs beside the target, by name")
    ] = field(default_factory=dict)
    surroundings: Annotated[Surroundings, about("the host around it")] = _NOT_KNOWN
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


def counted(windows: Iterable[Window]) -> tuple[Window, ...]:
    """The windows that figures are taken of: all that are not void."""
    return tuple(window for window in windows if not window.is_void)
