"""One window, with everything that was seen while it ran."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from tuner.model import Doubt, Phase
from tuner.schemas.base import Answer


class SpreadAnswer(Answer):
    """A time within one window."""

    p50_ms: float = Field(description="median")
    p95_ms: float = Field(description="95th percentile")
    max_ms: float = Field(description="the longest")


class ProxyAnswer(Answer):
    """What nginx in front of uWSGI's socket logged in one window."""

    requests: int = Field(description="lines in its log")
    by_status: Mapping[str, int] = Field(description="requests by status; 499: client gave up")
    connect: SpreadAnswer = Field(description="until uWSGI's socket took the connection")
    header: SpreadAnswer = Field(description="until the first byte of the answer")
    response: SpreadAnswer = Field(description="until its last byte")
    request: SpreadAnswer = Field(description="as the client sees it")


class ServerAnswer(Answer):
    """The target from inside; shares of CPU are of one core, null is what could not be seen."""

    busiest_process: float | None = Field(description="CPU of the uWSGI process that used most")
    router: float | None = Field(description="CPU of the http router's busiest process")
    master: float | None = Field(description="CPU of uWSGI's master")
    system_share: float | None = Field(description="share of CPU time spent in the kernel, 0..1")
    switches_per_request: float | None = Field(description="context switches of uWSGI")
    queue_p95: float | None = Field(description="filled share of the listen queue, 95th percentile")
    queue_max: int | None = Field(description="connections waiting in it at most")
    queue_size: int | None = Field(description="how many it holds")
    memory_peak_mb: float | None = Field(description="since the start, page cache included")
    oom_kills: int = Field(description="processes that the kernel killed for memory")
    cores: float | None = Field(description="CPUs that the target kept busy")


class SurroundingsAnswer(Answer):
    """The host around target and load generator; null is what could not be seen."""

    steal: float | None = Field(description="share of CPU time that its hypervisor took, 0..1")
    foreign_cpu: float | None = Field(description="CPUs kept busy by something else")
    pressure: float | None = Field(description="share of time in which something waited for CPU")


class WindowAnswer(Answer):
    """One stretch of load with one value per metric: the raw data of every statistic."""

    block: int = Field(description="the block's sequence within the job")
    phase: Phase = Field(description="the phase that the block belongs to")
    host: str | None = Field(description="the host that measured it")
    index: int = Field(description="order within the block, over all arms")
    arm: int = Field(description="which side of the block")
    trial: int = Field(description="the trial, or the file of a comparison, that it shows")
    started_at: datetime = Field(description="when the load began")
    duration_s: float = Field(description="seconds of load that count, after the discarded head")
    requests: int = Field(description="answered as expected")
    errors: int = Field(description="everything else that was sent")
    errors_by_class: Mapping[str, int] = Field(description="as in http_502, refused, timeout")
    throughput_rps: float = Field(description="answered as expected, per second")
    latency_p50_ms: float | None = Field(description="median latency of successful requests")
    latency_p95_ms: float | None = Field(description="95th percentile of latency")
    latency_p99_ms: float | None = Field(description="99th percentile of latency")
    memory_mb: float | None = Field(description="the target's working set at the end")
    served: int | None = Field(description="requests by uWSGI's own counter")
    respawns: int = Field(description="uWSGI processes replaced meanwhile")
    client_cpu: float = Field(description="share of the load generator's CPUs in use, 0..1")
    target_cpu: float | None = Field(description="share of the target's CPU limit in use, 0..1")
    throttled: float | None = Field(description="share of periods in which the quota ran out")
    busy: float | None = Field(description="share of uWSGI's slots busy, 0..1")
    listen_overflows: int = Field(description="connections dropped at the accept queue")
    time_wait: int = Field(description="sockets in TIME_WAIT at the end")
    sent: int = Field(description="all that the client sent in the whole run")
    connections: int = Field(description="connections that the load kept open at most")
    stalled: int = Field(description="connections without one answer")
    over_limit: float | None = Field(description="share not answered within limit_s, 0..1")
    connect: SpreadAnswer | None = Field(description="the client's own connects")
    proxy: ProxyAnswer | None = Field(description="what nginx logged, where it is in front")
    server: ServerAnswer = Field(description="the target from inside")
    surroundings: SurroundingsAnswer = Field(description="the host around it")
    series: Sequence[int] = Field(description="answered as expected, per 0.25 s, head included")
    histogram: Mapping[int, int] = Field(
        description="requests by bucket of their latency: below 128 the bucket is the time in us, "
        "above it holds the power of two and the next 7 bits"
    )
    doubts: Sequence[Doubt] = Field(description="reasons not to trust this window")
