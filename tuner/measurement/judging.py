"""A window from the figures of client, uWSGI and kernel, with its doubts."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from tuner.measurement.host import LoadReading, QueueReading, Usage
from tuner.model import (
    ClosedLoop,
    Doubt,
    Limits,
    Load,
    Metric,
    OpenLoop,
    ServerFigures,
    Service,
    ServiceFigures,
    Surroundings,
    Window,
    connections,
    extended,
)

CLIENT_SATURATED_ABOVE = 0.8  # share of the load generator's CPUs
COUNTERS_MAY_DIFFER_BY = 0.001  # share of the requests; plus one in flight per connection
STALLED_ABOVE = 0.01  # share of the connections that got no answer
THROTTLED_ABOVE = 0.1  # share of CFS periods
STEAL_ABOVE = 0.03  # share of the host's CPU time
FOREIGN_ABOVE = 0.2  # CPUs
FOREIGN_WITH_ENGINE_ABOVE = 0.75  # ... if they include the engine, which reads the log
SERVICE_FULL_ABOVE = 0.95  # share of a service's CPU limit
SERVICE_THROTTLED_ABOVE = 0.5  # share of a service's CFS periods
RATE_REACHED_FROM = 0.98  # share of the requests that were due

FEWEST_REQUESTS = {
    Metric.THROUGHPUT_RPS: 25,  # counting alone has an uncertainty of 20 %
    Metric.RPS_PER_CPU: 25,
    Metric.LATENCY_P50_MS: 100,
    Metric.LATENCY_P95_MS: 1_000,
    Metric.LATENCY_P99_MS: 5_000,  # the 95 % interval of p99 is then p98.7 .. p99.3
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The conditions of a window, besides its counters."""

    arm: int
    load: Load
    planned_s: float
    limits: Limits
    client_cpus: int
    shares_cpus: bool
    cpus_with_services: int = 0  # CPUs that target and services share; 0: each has its own
    metrics: Collection[Metric] = (Metric.THROUGHPUT_RPS,)  # of the study
    steady: bool = True
    services: Mapping[str, ServiceFigures] = field(default_factory=dict)  # beside the target
    refusal: str | None = None  # a line of a log: a service refused connections
    cpu_speed: float | None = None  # steps per microsecond


def window_of(
    reading: LoadReading, before: Usage, after: Usage, *, index: int, under: Circumstances
) -> Window:
    """The window of one run of load, with its doubts."""
    window = _figures(reading, before, after, index, under)
    oom_kills = after.oom_kills - before.oom_kills
    counted = _counted(reading, window, under.load)
    doubts = {
        Doubt.CLIENT_SATURATED: window.client_cpu > CLIENT_SATURATED_ABOVE,
        Doubt.PORTS_EXHAUSTED: reading.ports_exhausted,
        Doubt.COUNTER_MISMATCH: counted is not None
        and not counters_agree(counted, window.sent, window.errors + window.connections),
        Doubt.UNCOUNTED: counted is None,
        Doubt.ERRORS: window.errors > 0,
        Doubt.UNFINISHED_CONNECTIONS: _starves(window),
        Doubt.NOT_STEADY: not under.steady,
        Doubt.TOO_FEW_REQUESTS: any(
            window.requests < FEWEST_REQUESTS.get(metric, 0) for metric in under.metrics
        ),
        Doubt.THROTTLED: (window.throttled or 0.0) > THROTTLED_ABOVE,
        Doubt.SHARED_CPUS: under.shares_cpus,
        Doubt.SERVICES_SHARE_CPUS: under.cpus_with_services > 0,
        Doubt.NOISY_HOST: is_noisy(window.surroundings),
        Doubt.DISTURBED: window.respawns > 0 or oom_kills > 0,
        Doubt.RATE_NOT_REACHED: _falls_short(under.load, window.sent, under.planned_s),
        Doubt.SERVICES_SATURATED: any(map(_is_saturated, under.services.values())),
        Doubt.SERVICE_REFUSED: under.refusal is not None,
    }
    return replace(window, doubts=tuple(doubt for doubt, holds in doubts.items() if holds))


def service_figures(
    reading: LoadReading,
    before: Mapping[str, Usage],
    after: Mapping[str, Usage],
    *,
    services: Mapping[str, Service],
    cpus: int,
    written_mb: Mapping[str, float],
) -> dict[str, ServiceFigures]:
    """What each service used in one run of load; one that has ended is left out.

    They have `cpus` CPUs together. `written_mb` counts from the arm's start.
    """
    return {
        name: replace(
            _service_figures(reading, before[name], used, min(services[name].cpus or cpus, cpus)),
            written_mb=written_mb.get(name),
        )
        for name, used in after.items()
        if name in before
    }


def _service_figures(
    reading: LoadReading, before: Usage, after: Usage, cpus: float
) -> ServiceFigures:
    used_s = after.cpu_s - before.cpu_s
    share = _per(used_s, reading.wall_s * cpus)
    throttled = after.throttled_periods - before.throttled_periods
    return ServiceFigures(
        cores=_per(used_s, reading.wall_s) or 0.0,
        cpu=None if share is None else min(1.0, share),  # it may also work just around the load
        throttled=_per(throttled, after.periods - before.periods),
        memory_mb=after.memory_mb,
        oom_kills=after.oom_kills - before.oom_kills,
    )


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
    return isinstance(load, OpenLoop) and sent < RATE_REACHED_FROM * load.rate_rps * planned_s - 1


def _figures(
    reading: LoadReading, before: Usage, after: Usage, index: int, under: Circumstances
) -> Window:
    """The window with all figures, without doubts."""
    seconds, wall_s = reading.duration_s, reading.wall_s
    periods = after.periods - before.periods
    throttled = after.throttled_periods - before.throttled_periods
    served, respawns, busy = _server_side(reading)
    # The proxy runs on the load generator's CPUs too: their sum can run out.
    client_s = max(reading.client_cpu_s, reading.host.own_s if reading.host else 0.0)
    used_s = after.cpu_s - before.cpu_s
    return extended(
        Window,
        reading,
        index=index,
        arm=under.arm,
        errors=sum(reading.errors_by_class.values()),
        throughput_rps=_per(reading.requests, seconds) or 0.0,
        memory_mb=after.memory_mb,
        served=served,
        respawns=respawns,
        client_cpu=_per(client_s, wall_s * under.client_cpus) or 0.0,
        target_cpu=_per(used_s, wall_s * under.limits.cpus),
        throttled=_per(throttled, periods),
        busy=busy,
        connections=connections(under.load),
        server=_server_figures(reading, before, after),
        services=under.services,
        surroundings=replace(
            _surroundings(
                reading,
                _arm_s(used_s, wall_s, under),
                _growth(before.engine_cpu_s, after.engine_cpu_s),
            ),
            with_services=_per(_arm_s(used_s, wall_s, under), wall_s * under.cpus_with_services),
            refusal=under.refusal,
            cpu_speed=under.cpu_speed,
        ),
    )


def _server_side(reading: LoadReading) -> tuple[int | None, int, float | None]:
    """uWSGI's own figures: requests served, processes replaced, share of busy slots."""
    before, after = reading.before, reading.after
    if before is None or after is None:
        return None, 0, None
    busy = _per(after.running_us - before.running_us, reading.wall_s * 1e6 * after.cores)
    return after.requests - before.requests, max(0, after.respawns - before.respawns), busy


def _server_figures(reading: LoadReading, before: Usage, after: Usage) -> ServerFigures:
    processes, wall_s = reading.processes, reading.wall_s
    used_s = after.cpu_s - before.cpu_s
    in_kernel = _per(_growth(before.system_cpu_s, after.system_cpu_s), used_s)
    figures = ServerFigures(
        system_share=None if in_kernel is None else min(1.0, in_kernel),
        queue_p95=_filled(reading.queue),
        queue_max=reading.queue.max if reading.queue else None,
        queue_size=reading.queue.size if reading.queue else None,
        memory_peak_mb=after.memory_peak_mb,
        oom_kills=after.oom_kills - before.oom_kills,
        cores=_per(used_s, wall_s),
        connections_per_request=_per(reading.connects, reading.sent),
    )
    if processes is None:
        return figures
    return replace(
        figures,
        busiest_process=_per(processes.busiest_cpu_s, wall_s),
        router=_per(processes.router_cpu_s, wall_s),
        master=_per(processes.master_cpu_s, wall_s),
        switches_per_request=_per(processes.switches, reading.sent),
    )


def _filled(queue: QueueReading | None) -> float | None:
    """A queue takes one connection more than its size."""
    return min(1.0, queue.p95 / queue.size) if queue and queue.size else None


def _per(amount: float | None, whole: float) -> float | None:
    return amount / whole if amount is not None and whole > 0 else None


def _growth(before: float | None, after: float | None) -> float | None:
    """At least 0: a process that ends takes its CPU time out of the sum."""
    return None if before is None or after is None else max(0.0, after - before)


def _arm_s(used_s: float, wall_s: float, under: Circumstances) -> float:
    """CPU time of the target, which `used_s` is, and of its services."""
    return used_s + wall_s * sum(service.cores for service in under.services.values())


def _surroundings(reading: LoadReading, arm_s: float, engine_s: float | None) -> Surroundings:
    """`arm_s` is the CPU time of the target and of its services."""
    host = reading.host
    if host is None or not host.wall_s:
        return Surroundings()
    return Surroundings(
        steal=host.steal_s / (host.wall_s * host.cpus),
        foreign_cpu=max(0.0, host.busy_s - host.own_s - arm_s - (engine_s or 0.0)) / host.wall_s,
        engine_cpu=_per(engine_s, host.wall_s),
        pressure=_per(host.pressure_s, host.wall_s),
    )
