"""Load on one started arm, the time that it takes, and the doubts of its windows."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from tuner.bench.measurement.course import is_steady, lengthened, warming
from tuner.bench.measurement.host import ArmSpec, LoadGenerator, LoadReading, RunningTarget, Usage
from tuner.bench.measurement.windows import Circumstances, figures, service_figures
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.masking import masked
from tuner.nouns.model import (
    ANSWERS_OF_A_CONNECTION,
    WARM_UPS_AT_MOST,
    BlockOptions,
    ClosedLoop,
    Doubt,
    Load,
    Metric,
    OpenLoop,
    ServiceFigures,
    Surroundings,
    Window,
)

# ---- Load on one started arm, and the time that it takes


@dataclass(slots=True)
class Stopwatch:
    """Splits a measurement's wall time into set-up and load."""

    started: float = field(default_factory=time.monotonic)
    load_s: float = 0.0

    @contextmanager
    def loading(self) -> Iterator[None]:
        """What runs in this context is load."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.load_s += time.monotonic() - began

    @property
    def setup_s(self) -> float:
        """Seconds since the start without load."""
        return time.monotonic() - self.started - self.load_s


@contextmanager
def arm_at_fault(arm: ArmSpec) -> Iterator[None]:
    """A `TargetFailed` in this context names the arm."""
    try:
        yield
    except TargetFailed as failure:
        failure.arm = arm.index
        raise


@contextmanager
def services_running(running: RunningTarget) -> Iterator[None]:
    """The services of an arm run in this context only: those of two arms never compete.

    A failure in the context counts, not one of the pause that follows it.
    """
    running.resume()
    try:
        yield
    except BaseException:
        with suppress(TargetFailed, Infrastructure):
            running.rest()
        raise
    running.rest()


@dataclass(slots=True)
class Driver:
    """Sends load to one started arm, from its warm-up to its last window.

    `loads` are the rungs of the workload, as a client sends them to this server.
    """

    load: LoadGenerator
    running: RunningTarget
    arm: ArmSpec
    loads: Sequence[Load]
    metrics: frozenset[Metric]
    watch: Stopwatch
    warmup_s: float = 0.0
    is_steady: bool = True
    last_warm_up: LoadReading | None = None
    round_trips_ms: Mapping[str, float] = field(default_factory=dict)  # measured, by service

    def drive(self, load: Load, seconds: float) -> LoadReading:
        """One run of load. A `TargetFailed` names the arm."""
        with arm_at_fault(self.arm), services_running(self.running), self.watch.loading():
            return self.load.drive(self.running, self.arm.target, load, seconds)

    def measure_round_trips(self) -> None:
        """Measure the way to the services. They may rest: the kernel answers for them."""
        with arm_at_fault(self.arm):
            self.round_trips_ms = self.load.round_trips(self.running, self.arm.target)

    def warm_up(self, seconds: float) -> None:
        """Send load for `seconds` until throughput is steady, `WARM_UPS_AT_MOST` times at most."""
        if seconds <= 0:
            return
        for _ in range(WARM_UPS_AT_MOST):
            reading = self.drive(warming(self.loads[0]), seconds)
            self.warmup_s += reading.wall_s
            self.last_warm_up = reading
            self.is_steady = is_steady(reading.series, seconds)
            if self.is_steady:
                return

    def enough_s(self, window_s: float, block_options: BlockOptions) -> float:
        """Seconds of a window: `window_s`, or longer where the block asks for it."""
        warm_up = self.last_warm_up
        if warm_up is None or not block_options.lengthens:
            return window_s
        return lengthened(window_s, self.loads[0], warm_up.requests, warm_up.duration_s)

    def window(self, load: Load, seconds: float, index: int) -> Window:
        """One window with its doubts."""
        before, services_before = self.running.usage(), self.running.service_usage()
        with self.running.cpu_speed() as speeds:
            reading = self.drive(load, seconds)
        after, services_after = self.running.usage(), self.running.service_usage()
        with arm_at_fault(self.arm):
            written_mb = self.running.check_disk()
        # The head comes first, and does not count.
        counts_from = reading.started_at.timestamp() + max(0.0, seconds - reading.duration_s)
        under = Circumstances(
            arm=self.arm.index,
            load=load,
            planned_s=seconds,
            limits=self.arm.limits,
            placement=self.running.placement,
            metrics=self.metrics,
            steady=self.is_steady,
            services=service_figures(
                reading,
                services_before,
                services_after,
                services=self.arm.target.services,
                placement=self.running.placement,
                written_mb=written_mb,
                round_trips_ms=self.round_trips_ms,
            ),
            beside=self.arm.target.beside,
            # Logs are long: they are read only for the cause of an error.
            refusal=self.running.refusal() if reading.errors_by_class else None,
            cpu_speed=speeds.mean(counts_from, counts_from + reading.duration_s),
        )
        return window_of(reading, before, after, index=index, under=under)


# ---- The doubts of a window: when each holds

CLIENT_SATURATED_ABOVE = 0.8  # share of the load generator's CPUs
BENCH_BUSY_ABOVE = 0.8  # share of the CPUs that load generator and services share
BENCH_FULL_ABOVE = 0.95
COUNTERS_MAY_DIFFER_BY = 0.001  # share of the requests; plus one in flight per connection
STALLED_ABOVE = 0.01  # share of the connections that got no answer
THROTTLED_ABOVE = 0.1  # share of CFS periods
STEAL_ABOVE = 0.03  # share of the host's CPU time
FOREIGN_ABOVE = 0.2  # CPUs
FOREIGN_WITH_ENGINE_ABOVE = 0.75  # ... if they include the engine, which reads the log
SERVICE_FULL_ABOVE = 0.95  # share of a service's CPU limit
SERVICE_THROTTLED_ABOVE = 0.5  # share of a service's CFS periods
FEW_FAIL_UP_TO = 0.01  # share of the requests
RATE_MAY_BE_WRONG_BY = 0.1  # share of the connections that rate x latency is
RATE_REACHED_FROM = 0.98  # share of the requests that were due

FEWEST_REQUESTS = {
    Metric.THROUGHPUT_RPS: 25,  # counting alone has an uncertainty of 20 %
    Metric.RPS_PER_CPU: 25,
    Metric.LATENCY_P50_MS: 100,
    Metric.LATENCY_P95_MS: 1_000,
    Metric.LATENCY_P99_MS: 5_000,  # the 95 % interval of p99 is then p98.7 .. p99.3
}


def window_of(
    reading: LoadReading, before: Usage, after: Usage, *, index: int, under: Circumstances
) -> Window:
    """The window of one run of load, with its doubts."""
    window = figures(reading, before, after, index=index, under=under)
    oom_kills = after.oom_kills - before.oom_kills
    counted = _counted(reading, window, under.load)
    full = [each for each in under.services.values() if _is_saturated(each)]
    bench = window.surroundings.generator_with_services or 0.0
    doubts = {
        Doubt.CLIENT_SATURATED: window.client_cpu > CLIENT_SATURATED_ABOVE,
        Doubt.PORTS_EXHAUSTED: reading.ports_exhausted,
        Doubt.COUNTER_MISMATCH: counted is not None
        and not counters_agree(counted, window.sent, window.errors + window.connections),
        Doubt.ERRORS: window.errors > 0,
        Doubt.UNFINISHED_CONNECTIONS: _starves(window),
        Doubt.NOT_STEADY: not under.steady,
        Doubt.TOO_FEW_REQUESTS: any(
            window.requests < FEWEST_REQUESTS.get(metric, 0) for metric in under.metrics
        ),
        Doubt.THROTTLED: (window.throttled or 0.0) > THROTTLED_ABOVE,
        Doubt.SHARED_CPUS: under.placement.shares_cpus,
        Doubt.BENCH_BUSY: BENCH_BUSY_ABOVE < bench <= BENCH_FULL_ABOVE,
        Doubt.BENCH_FULL: bench > BENCH_FULL_ABOVE,
        Doubt.NOISY_HOST: is_noisy(window.surroundings),
        Doubt.DISTURBED: window.respawns > 0 or oom_kills > 0,
        Doubt.RATE_NOT_REACHED: _falls_short(under.load, window.sent, under.planned_s),
        Doubt.SERVICES_SATURATED: any(not each.is_limit_of_bench for each in full),
        Doubt.SERVICES_AT_BENCH_LIMIT: any(each.is_limit_of_bench for each in full),
        Doubt.SERVICE_REFUSED: under.refusal is not None,
        Doubt.UNCOUNTED: counted is None,
        Doubt.WINDOW_TOO_SHORT: _is_too_short(window, under.load),
    }
    return replace(window, doubts=tuple(doubt for doubt, holds in doubts.items() if holds))


def _is_saturated(service: ServiceFigures) -> bool:
    is_full = (service.cpu or 0.0) > SERVICE_FULL_ABOVE
    return is_full or (service.throttled or 0.0) > SERVICE_THROTTLED_ABOVE


def _counted(reading: LoadReading, window: Window, load: Load) -> int | None:
    """Requests by another count than the client's; None where there is none.

    uWSGI counts its own. Of another server the kernel counts the connections, which are the
    requests where the client opens one for each: as asked, or because the server closes them.
    """
    if window.served is not None or reading.connects is None:
        return window.served
    asked = isinstance(load, ClosedLoop | OpenLoop) and not load.keep_alive
    in_doubt = window.errors + window.connections
    is_one_each = asked or counters_agree(reading.connects, window.sent, in_doubt)
    return reading.connects if is_one_each else None


def counters_agree(served: int, sent: int, in_doubt: int) -> bool:
    """Whether the server's count and the client's differ by `in_doubt` requests or less.

    A failed request may or may not have reached the app, and each connection may have one request
    in flight at the end.
    """
    return abs(served - sent) <= in_doubt + COUNTERS_MAY_DIFFER_BY * sent


def is_noisy(around: Surroundings) -> bool:
    """Whether other processes had a noticeable share of the host."""
    most = FOREIGN_WITH_ENGINE_ABOVE if around.engine_cpu is None else FOREIGN_ABOVE
    return (around.steal or 0.0) > STEAL_ABOVE or (around.foreign_cpu or 0.0) > most


def _starves(window: Window) -> bool:
    """Whether the server holds connections without serving them: such a window is worthless.

    Connections that the kernel dropped at a full queue do not count: the configuration causes
    them, and a longer queue helps.
    """
    return window.stalled > STALLED_ABOVE * window.connections and not window.listen_overflows


def _falls_short(load: Load, sent: int, planned_s: float) -> bool:
    if not isinstance(load, OpenLoop) or load.arrivals == "poisson":
        return False  # k6 sends whatever falls due; what is late counts as slow
    return sent < RATE_REACHED_FROM * load.rate_rps * planned_s - 1


def _is_too_short(window: Window, load: Load) -> bool:
    """Whether requests take long, and rate x latency is not the connections (Little's law).

    Answers that come in waves are counted a wave too many, or too few. The latencies do not have
    this fault. Failed requests have no latency, so the law says nothing where many fail.
    """
    if not isinstance(load, ClosedLoop) or window.error_rate > FEW_FAIL_UP_TO:
        return False
    mean_ms = window.histogram.mean_ms
    if mean_ms is None:
        return not window.requests
    latency_s = mean_ms / 1000
    is_long = ANSWERS_OF_A_CONNECTION * latency_s > window.duration_s
    under_way = window.throughput_rps * latency_s / load.concurrency
    return is_long and abs(under_way - 1) > RATE_MAY_BE_WRONG_BY


# ---- Log lines by which a service refuses connections, because it has as many as it allows

LONGEST = 300  # characters of a line that are kept

_REFUSED = re.compile(
    r"sorry, too many clients already"  # PostgreSQL
    r"|remaining connection slots are reserved"  # PostgreSQL: the rest is for administrators
    r"|SQLSTATE[\s:=(\[]*53300"  # PostgreSQL in any language
    r"|\btoo many connections\b"  # MySQL's 1040, MariaDB; PostgreSQL's limit of a role
    r"|max number of clients reached",  # Redis, Valkey
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def refusal_in(log: str) -> str | None:
    """The last line of a log that says that a service refused a connection, without secrets.

    A line of the service itself counts, and one of the app that quotes its answer.
    """
    for line in reversed(log.splitlines()):
        if _REFUSED.search(line):
            shown = masked(_CONTROL.sub(" ", line).strip())
            found = _REFUSED.search(shown)
            start = max(0, found.end() - LONGEST) if found else 0
            return shown[start : start + LONGEST]
    return None
