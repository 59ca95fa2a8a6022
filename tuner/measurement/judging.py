"""One stretch of load, judged: what client, uWSGI and kernel say, and what does not agree."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from tuner.measurement.host import LoadReading, QueueReading, Usage
from tuner.model import (
    Doubt,
    Limits,
    Load,
    Metric,
    OpenLoop,
    ServerFigures,
    Surroundings,
    Window,
    connections,
    extended,
)

CLIENT_SATURATED_ABOVE = 0.8  # share of the load generator's CPUs
COUNTERS_MAY_DIFFER_BY = 0.001  # of the requests; plus one request in flight per connection
STALLED_ABOVE = 0.01  # share of the connections that got no answer
THROTTLED_ABOVE = 0.1  # share of CFS periods
STEAL_ABOVE = 0.03  # share of the host's CPU time
FOREIGN_ABOVE = 0.2  # CPUs
FOREIGN_WITH_ENGINE_ABOVE = 0.75  # ... where the engine, which takes the log, cannot be told apart
RATE_REACHED_FROM = 0.98  # share of the requests that fell due

FEWEST_REQUESTS = {
    Metric.THROUGHPUT_RPS: 25,  # 20 % of uncertainty from counting alone
    Metric.RPS_PER_CPU: 25,
    Metric.LATENCY_P50_MS: 100,
    Metric.LATENCY_P95_MS: 1_000,
    Metric.LATENCY_P99_MS: 5_000,  # the 95 % interval of p99 then is p98.7 .. p99.3
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a window was measured under, besides its counters."""

    arm: int
    load: Load
    planned_s: float
    limits: Limits
    client_cpus: int
    shares_cpus: bool
    metrics: Collection[Metric] = (Metric.THROUGHPUT_RPS,)  # that the study will use
    steady: bool = True


def window_of(
    reading: LoadReading, before: Usage, after: Usage, *, index: int, under: Circumstances
) -> Window:
    """Bring the client's figures, uWSGI's and the kernel's together, with what to doubt in them."""
    window = _figures(reading, before, after, index, under)
    oom_kills = after.oom_kills - before.oom_kills
    doubts = {
        Doubt.CLIENT_SATURATED: window.client_cpu > CLIENT_SATURATED_ABOVE,
        Doubt.PORTS_EXHAUSTED: reading.ports_exhausted,
        Doubt.COUNTER_MISMATCH: window.served is not None
        and not counters_agree(window.served, window.sent, window.errors + window.connections),
        Doubt.ERRORS: window.errors > 0,
        Doubt.UNFINISHED_CONNECTIONS: _starves(window),
        Doubt.NOT_STEADY: not under.steady,
        Doubt.TOO_FEW_REQUESTS: any(
            window.requests < FEWEST_REQUESTS.get(metric, 0) for metric in under.metrics
        ),
        Doubt.THROTTLED: (window.throttled or 0.0) > THROTTLED_ABOVE,
        Doubt.SHARED_CPUS: under.shares_cpus,
        Doubt.NOISY_HOST: is_noisy(window.surroundings),
        Doubt.DISTURBED: window.respawns > 0 or oom_kills > 0,
        Doubt.RATE_NOT_REACHED: _falls_short(under.load, window.sent, under.planned_s),
    }
    return replace(window, doubts=tuple(doubt for doubt, holds in doubts.items() if holds))


def counters_agree(served: int, sent: int, in_doubt: int) -> bool:
    """Whether uWSGI's count fits the client's, give or take `in_doubt` requests.

    In doubt are requests that failed (they may or may not have reached the app) and one per
    connection that was in flight when the clock stopped.
    """
    return abs(served - sent) <= in_doubt + COUNTERS_MAY_DIFFER_BY * sent


def is_noisy(around: Surroundings) -> bool:
    """Whether something else than target and load generator had a noticeable share of the host."""
    most = FOREIGN_WITH_ENGINE_ABOVE if around.engine_cpu is None else FOREIGN_ABOVE
    return (around.steal or 0.0) > STEAL_ABOVE or (around.foreign_cpu or 0.0) > most


def _starves(window: Window) -> bool:
    """Connections that the kernel dropped at a full queue starve too: those are errors to come.

    That is the configuration's own doing, which a longer queue mends. Only a server that holds
    connections and never serves them makes the window worthless.
    """
    return window.stalled > STALLED_ABOVE * window.connections and not window.listen_overflows


def _falls_short(load: Load, sent: int, planned_s: float) -> bool:
    return isinstance(load, OpenLoop) and sent < RATE_REACHED_FROM * load.rate_rps * planned_s - 1


def _figures(
    reading: LoadReading, before: Usage, after: Usage, index: int, under: Circumstances
) -> Window:
    """The window with every figure and without its doubts."""
    seconds, wall_s = reading.duration_s, reading.wall_s
    periods = after.periods - before.periods
    throttled = after.throttled_periods - before.throttled_periods
    served, respawns, busy = _server_side(reading)
    # The proxy runs on the load generator's CPUs: what both take is what can run out.
    client_s = max(reading.client_cpu_s, reading.host.own_s if reading.host else 0.0)
    used_s = after.cpu_s - before.cpu_s
    return extended(
        Window,
        reading,
        index=index,
        arm=under.arm,
        errors=sum(reading.errors_by_class.values()),
        throughput_rps=reading.requests / seconds if seconds else 0.0,
        memory_mb=after.memory_mb,
        served=served,
        respawns=respawns,
        client_cpu=client_s / (wall_s * under.client_cpus) if wall_s else 0.0,
        target_cpu=used_s / (wall_s * under.limits.cpus) if wall_s else None,
        throttled=throttled / periods if periods else None,
        busy=busy,
        connections=connections(under.load),
        server=_server_figures(reading, before, after),
        surroundings=_surroundings(reading, used_s, _engine_s(before, after)),
    )


def _server_side(reading: LoadReading) -> tuple[int | None, int, float | None]:
    """uWSGI's own view: requests served, processes replaced, share of slots busy."""
    before, after = reading.before, reading.after
    if before is None or after is None:
        return None, 0, None
    slots_us = reading.wall_s * 1e6 * after.cores
    busy = (after.running_us - before.running_us) / slots_us if slots_us else None
    return after.requests - before.requests, max(0, after.respawns - before.respawns), busy


def _server_figures(reading: LoadReading, before: Usage, after: Usage) -> ServerFigures:
    processes, wall_s = reading.processes, reading.wall_s
    used_s = after.cpu_s - before.cpu_s
    in_kernel = None
    if after.system_cpu_s is not None and before.system_cpu_s is not None and used_s > 0:
        in_kernel = min(1.0, (after.system_cpu_s - before.system_cpu_s) / used_s)
    return ServerFigures(
        busiest_process=processes.busiest_cpu_s / wall_s if processes and wall_s else None,
        router=processes.router_cpu_s / wall_s
        if processes and processes.router_cpu_s is not None and wall_s
        else None,
        master=processes.master_cpu_s / wall_s if processes and wall_s else None,
        system_share=in_kernel,
        switches_per_request=processes.switches / reading.sent
        if processes and reading.sent
        else None,
        queue_p95=_filled(reading.queue),
        queue_max=reading.queue.max if reading.queue else None,
        queue_size=reading.queue.size if reading.queue else None,
        memory_peak_mb=after.memory_peak_mb,
        oom_kills=after.oom_kills - before.oom_kills,
        cores=used_s / wall_s if wall_s else None,
    )


def _filled(queue: QueueReading | None) -> float | None:
    """A queue takes one connection more than its size."""
    return min(1.0, queue.p95 / queue.size) if queue and queue.size else None


def _engine_s(before: Usage, after: Usage) -> float | None:
    if before.engine_cpu_s is None or after.engine_cpu_s is None:
        return None
    return max(0.0, after.engine_cpu_s - before.engine_cpu_s)  # one that ends takes its own along


def _surroundings(reading: LoadReading, target_s: float, engine_s: float | None) -> Surroundings:
    host = reading.host
    if host is None or not host.wall_s:
        return Surroundings()
    return Surroundings(
        steal=host.steal_s / (host.wall_s * host.cpus),
        foreign_cpu=max(0.0, host.busy_s - host.own_s - target_s - (engine_s or 0.0)) / host.wall_s,
        engine_cpu=None if engine_s is None else engine_s / host.wall_s,
        pressure=None if host.pressure_s is None else host.pressure_s / host.wall_s,
    )
