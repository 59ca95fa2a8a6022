"""The figures of a window, from those of client, uWSGI and kernel."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from tuner.bench.measurement.host import LoadReading, Placement, QueueReading, Usage
from tuner.nouns.model import (
    Limits,
    Load,
    Metric,
    Runs,
    ServerFigures,
    Service,
    ServiceFigures,
    Surroundings,
    Window,
    connections,
    cpus_in,
    extended,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The conditions of a window, besides its counters."""

    arm: int
    load: Load
    planned_s: float
    limits: Limits
    placement: Placement
    metrics: Collection[Metric] = (Metric.THROUGHPUT_RPS,)  # of the study
    steady: bool = True
    services: Mapping[str, ServiceFigures] = field(default_factory=dict)  # beside the target
    beside: Collection[str] = ()  # those of them that share the target's CPUs
    refusal: str | None = None  # a line of a log: a service refused connections
    cpu_speed: float | None = None  # steps per microsecond


def figures(
    reading: LoadReading, before: Usage, after: Usage, *, index: int, under: Circumstances
) -> Window:
    """The window of one run of load with all figures, without doubts."""
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
        client_cpu=_per(client_s, wall_s * under.placement.client_cpus) or 0.0,
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
            **_with_services(used_s, client_s, wall_s, under),
            refusal=under.refusal,
            cpu_speed=under.cpu_speed,
        ),
    )


def _with_services(
    used_s: float, client_s: float, wall_s: float, under: Circumstances
) -> dict[str, float | None]:
    """The use of the CPUs that services share: those of the target, those of the generator."""
    placement = under.placement
    target = _shared(used_s, wall_s, placement.target, under, is_beside=True)
    generator = _shared(client_s, wall_s, placement.generator, under, is_beside=False)
    return {
        "with_services": target if placement.has_beside else None,
        "generator_with_services": generator if placement.generator_has_services else None,
    }


def service_figures(
    reading: LoadReading,
    before: Mapping[str, Usage],
    after: Mapping[str, Usage],
    *,
    services: Mapping[str, Service],
    placement: Placement,
    written_mb: Mapping[str, float],
    round_trips_ms: Mapping[str, float],
) -> dict[str, ServiceFigures]:
    """What each service used in one run of load; one that has ended is left out.

    `written_mb` counts from the arm's start, `round_trips_ms` were measured before the load.
    """
    found = {}
    for name in after.keys() & before.keys():
        service = services[name]
        cpus = len(cpus_in(placement.of_service(service)))
        found[name] = replace(
            _service_figures(reading, before[name], after[name], min(service.cpus or cpus, cpus)),
            written_mb=written_mb.get(name),
            rtt_ms=round_trips_ms.get(name),
            is_limit_of_bench=service.runs is Runs.ELSEWHERE and cpus < (service.cpus or math.inf),
        )
    return found


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


def _shared(
    used_s: float, wall_s: float, cpus: str, under: Circumstances, *, is_beside: bool
) -> float | None:
    """The share in use of CPUs that services share with something else, which used `used_s`."""
    theirs = [s.cores for name, s in under.services.items() if (name in under.beside) is is_beside]
    return _per(used_s + wall_s * sum(theirs), wall_s * len(cpus_in(cpus)))


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
