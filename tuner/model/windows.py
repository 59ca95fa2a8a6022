"""One stretch of load and everything that was seen while it ran."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tuner.model.documents import Metric
from tuner.model.doubts import Doubt

SERIES_STEP_S = 0.25
"""Length of one step of a window's series."""

_SUB_BUCKETS = 128  # of every power of two: two significant digits


@dataclass(frozen=True, slots=True)
class Histogram:
    """Times in buckets less than 0.8 % wide, so that those of many windows add up.

    The bucket of a time of `us` microseconds: below 128 the number itself; above, the power of
    two and the next 7 bits, as in HdrHistogram with two significant digits.
    """

    counts: Mapping[int, int] = field(default_factory=dict)

    @staticmethod
    def bucket(us: int) -> int:
        """The bucket that a time in microseconds falls into."""
        if us < _SUB_BUCKETS:
            return max(0, us)
        shift = us.bit_length() - 8
        return (shift + 1) * _SUB_BUCKETS + (us >> shift) - _SUB_BUCKETS

    @staticmethod
    def middle_ms(bucket: int) -> float:
        """The middle of a bucket, in milliseconds."""
        if bucket < _SUB_BUCKETS:
            return bucket / 1000
        shift, rest = bucket // _SUB_BUCKETS - 1, bucket % _SUB_BUCKETS
        return (rest + _SUB_BUCKETS + 0.5) * (1 << shift) / 1000

    @classmethod
    def of_ms(cls, times_ms: Iterable[float]) -> "Histogram":
        """Of single times."""
        return cls(Counter(cls.bucket(round(1000 * time)) for time in times_ms))

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A time within one window, in ms."""

    p50_ms: float
    p95_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyTimes:
    """What nginx in front of uWSGI's socket logged in one window."""

    requests: int
    by_status: Mapping[str, int]  # "200", "499" (the client gave up), "502", "504", ...
    connect: Spread  # until uWSGI's socket took the connection: waiting for the listen queue
    header: Spread  # until the first byte of the answer
    response: Spread  # until its last byte
    request: Spread  # as the client sees it


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFigures:
    """The target from inside. Shares of CPU are of one core; None is what could not be seen."""

    busiest_process: float | None = None  # CPU share of the uWSGI process that used most
    router: float | None = None  # CPU share of the http router's busiest process
    master: float | None = None  # CPU share of uWSGI's master
    system_share: float | None = None  # share of the target's CPU time spent in the kernel, 0..1
    switches_per_request: float | None = None  # context switches of uWSGI's processes
    queue_p95: float | None = None  # filled share of the listen queue, 95th percentile, 0..1
    queue_max: int | None = None  # connections waiting in it at most
    queue_size: int | None = None  # how many it holds: `listen`, cut by somaxconn
    memory_peak_mb: float | None = None  # since the start, page cache included
    oom_kills: int = 0
    cores: float | None = None  # CPUs that the target kept busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The host around target and load generator while the window ran."""

    steal: float | None = None  # share of the host's CPU time that its hypervisor took, 0..1
    foreign_cpu: float | None = None  # CPUs kept busy by something else than these and the engine
    engine_cpu: float | None = None  # CPUs kept busy by the engine, which takes the target's log
    pressure: float | None = None  # share of the time in which something waited for a CPU, 0..1


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One stretch of load against one side of a block.

    The head of the run is discarded: rates and latencies are of `duration_s` after it. `sent` and
    `served`, which are compared, are of the whole run, head and late answers included; so are
    errors, for the generator does not say when they happened.

    Latencies are over successful requests only and None where there was none. In a closed loop
    they are service times (from sending); in an open loop they count from when a request was due;
    in bursts and journeys they hold the connect.
    """

    index: int  # order within the block, over all arms
    arm: int  # index into Measurement.arms
    started_at: datetime
    duration_s: float
    requests: int  # answered as expected
    errors: int  # everything else that was sent
    errors_by_class: Mapping[str, int]  # "http_502", "refused", "reset", "read_timeout", ...
    throughput_rps: float  # answered as expected, per second
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    memory_mb: float | None  # working set of the target's cgroup at the end of the window
    served: int | None  # difference of uWSGI's own request counter over the whole run
    respawns: int  # uWSGI processes replaced while the window ran
    client_cpu: float  # share of the generator's CPUs in use, 0..1
    target_cpu: float | None  # share of the target's CPU limit in use, 0..1
    throttled: float | None  # share of CFS periods in which the quota ran out, 0..1
    busy: float | None  # share of uWSGI's slots (processes * threads) busy, 0..1
    listen_overflows: int  # connections that the kernel dropped at the accept queue
    time_wait: int  # sockets in TIME_WAIT at the end
    sent: int = 0  # all that the client sent in the whole run
    connections: int = 0  # that the load kept open at most
    stalled: int = 0  # connections without one answer in the whole stretch
    over_limit: float | None = None  # share of all requests not answered within limit_s, 0..1
    connect: Spread | None = None  # the client's own connects
    proxy: ProxyTimes | None = None
    server: ServerFigures = ServerFigures()
    surroundings: Surroundings = Surroundings()
    series: tuple[int, ...] = ()  # answered as expected, per SERIES_STEP_S, head included
    histogram: Histogram = Histogram()
    doubts: tuple[Doubt, ...] = ()

    @property
    def error_rate(self) -> float:
        """Share of all that was sent in the run that failed, 0..1; 1 where nothing was sent."""
        sent = max(self.sent, self.requests + self.errors)
        return self.errors / sent if sent else 1.0

    @property
    def is_void(self) -> bool:
        """Whether some doubt makes the window worthless."""
        return any(doubt.voids for doubt in self.doubts)

    @property
    def rps_per_cpu(self) -> float | None:
        """Answered as expected per second of CPU time; None where that could not be seen."""
        return self.throughput_rps / self.server.cores if self.server.cores else None

    def value(self, metric: Metric) -> float | None:
        """The window's value of `metric`, None where it has none."""
        found: float | None = getattr(self, metric.value)
        return found
