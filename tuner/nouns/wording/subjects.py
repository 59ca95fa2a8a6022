"""Workloads, boxes, trials, services and nginx as text."""

from collections.abc import Mapping
from typing import assert_never

from tuner.nouns.model import (
    Limits,
    Origin,
    ProxyTimes,
    ServiceFigures,
    Spread,
    TrialState,
)
from tuner.nouns.model.reports import CapacityPoint, CapacityReport
from tuner.nouns.model.workloads import (
    Burst,
    Capacity,
    CapacityLimit,
    ClosedLoop,
    Journey,
    Ladder,
    OpenLoop,
    Paths,
    Rung,
    Workload,
)
from tuner.nouns.plain import count, thousands
from tuner.nouns.wording.effects import figure, share

STATES: Mapping[TrialState, str] = {
    TrialState.WAITING: "waiting",
    TrialState.RUNNING: "running",
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "stopped early",
    TrialState.INFEASIBLE: "infeasible",
    TrialState.FAILED: "the host failed",
}

ORIGINS: Mapping[Origin, str] = {
    Origin.BASELINE: "your file",
    Origin.HEURISTIC: "heuristic",
    Origin.SAMPLER: "sampler",
    Origin.GIVEN: "given",
    Origin.EARLIER: "earlier job",
    Origin.ABLATION: "ablation",
    Origin.MINIMAL: "smallest diff",
}


def errors(by_class: Mapping[str, int]) -> str:
    """`12 http_502, 3 reset`."""
    return ", ".join(f"{thousands(number)} {name}" for name, number in by_class.items())


def load(workload: Workload) -> str:
    """The workload in one line, without its requests."""
    match workload:
        case ClosedLoop():
            return f"closed loop of {count(workload.concurrency, 'connection')}"
        case OpenLoop():
            return f"{workload.rate_rps:g} requests per second at a fixed rate"
        case Capacity():
            return f"Poisson arrivals at rising rates, {capacity_limit(workload.limit)}"
        case Ladder():
            steps = ", ".join(str(step) for step in workload.concurrencies)
            return f"closed loops of {steps} connections, one after the other"
        case Paths():
            paths = count(len(workload.requests), "path")
            return f"closed loops of {count(workload.concurrency, 'connection')}, {paths} in turn"
        case Burst():
            return f"bursts of {count(workload.users, 'user')}, each within {workload.limit_s:g} s"
        case Journey():
            steps = count(len(workload.requests), "request")
            return f"{count(workload.users, 'user')} on a journey of {steps}"
        case _:
            assert_never(workload)


def capacity_limit(limit: CapacityLimit) -> str:
    """`p95 within 200 ms and at most 0.1 % of errors`."""
    percentile = limit.metric.value.removeprefix("latency_").removesuffix("_ms")
    return (
        f"{percentile} within {limit.latency_ms:g} ms"
        f" and at most {100 * limit.error_rate:g} % of errors"
    )


CAPACITY_COLUMNS = ("requests/s", "p50, ms", "p95, ms", "p99, ms", "errors, %")


def capacity_cells(point: CapacityPoint) -> tuple[str, ...]:
    """A probe in `CAPACITY_COLUMNS`."""
    times = (point.latency_p50_ms, point.latency_p95_ms, point.latency_p99_ms)
    shown = ("-" if time is None else figure(time) for time in times)
    return (figure(point.rate_rps), *shown, f"{100 * point.error_rate:.2g}")


def capacity_ratio(found: CapacityReport) -> str:
    """`1.24 times (1.18 .. 1.31) the capacity`."""
    low, high = found.ratio_low, found.ratio_high
    return f"{found.ratio:.2f} times ({low:.2f} .. {high:.2f}) the capacity"


def rung(name: Rung) -> str:
    """A rung: `10 000 connections`, or its path."""
    return count(name, "connection") if isinstance(name, int) else name


def request_of(workload: Workload, index: int) -> str:
    """Method and path of one of its requests."""
    request = workload.requests[index]
    return f"{request.method} {request.path}"


def box(limits: Limits) -> str:
    """`1 CPU, 512 MB, somaxconn 4096`, with open files and kernel settings where they are given."""
    parts = [f"{limits.cpus:g} CPU, {limits.memory_mb} MB, somaxconn {limits.somaxconn}"]
    if limits.nofile is not None:
        parts.append(f"nofile {limits.nofile}")
    parts += [f"{name} = {setting}" for name, setting in limits.sysctls.items()]
    return ", ".join(parts)


def service(used: ServiceFigures | None, first: ServiceFigures | None = None) -> str:
    """`CPU 98.0 %, throttled 3.1 %, 210 MB, round trip 0.52 ms`; what was not measured is left out.

    What it wrote is compared with the `first` file: `wrote up to 24.1 MB a block (+12.0 MB)`.
    """
    if used is None:
        return "not measured"
    shares = {"CPU": used.cpu, "throttled": used.throttled}
    parts = [f"{name} {share(part)}" for name, part in shares.items() if part is not None]
    parts.append(f"{used.memory_mb:.0f} MB")
    if used.rtt_ms is not None:
        parts.append(f"round trip {used.rtt_ms:.2f} ms")
    if used.written_mb:
        before = first.written_mb if first is not None else None
        more = f" ({used.written_mb - before:+.1f} MB)" if before is not None else ""
        parts.append(f"wrote up to {used.written_mb:.1f} MB a block{more}")
    if used.oom_kills:
        parts.append(count(used.oom_kills, "OOM kill"))
    return ", ".join(parts)


WATCHED: Mapping[str, tuple[str, str]] = {
    "error_rate": ("requests that failed", "%"),
    "app_error_rate": ("requests that failed because of the app", "%"),
    "client_cpu": ("CPU of the load generator, of its CPUs", "%"),
    "target_cpu": ("CPU of the app, of its limit", "%"),
    "throttled": ("time in which the kernel stopped the app for its CPU limit", "%"),
    "memory": ("memory of the app, of its limit", "%"),
    "oom_kills": ("processes that the kernel killed for memory", ""),
    "busy": ("slots that were busy", "%"),
    "busiest_process": ("CPU of the busiest process, of one CPU", "%"),
    "router": ("CPU of uWSGI's router, of one CPU", "%"),
    "master": ("CPU of uWSGI's master, of one CPU", "%"),
    "system_share": ("CPU time that the kernel took", "%"),
    "switches_per_request": ("context switches of a request", ""),
    "queue_p95": ("listen queue in use, 95th percentile", "%"),
    "queued_connections_p95": ("connections in the listen queue, 95th percentile", ""),
    "listen_overflows": ("connections for which the listen queue was full", ""),
    "stalled_connections": ("connections without an answer", ""),
    "foreign_cpu": ("CPUs that something else used", ""),
    "waited_for_cpu": ("time of the slots in which they waited for a CPU", "%"),
    "cpu_with_services": ("CPU of app and services, of the CPUs that they share", "%"),
    "burst_work_s": ("work of a burst, over all slots", "s"),
    "connections_per_request": ("connections of a request", ""),
    "connect_p95_ms": ("time to connect, 95th percentile", "ms"),
    "proxy_connect_p95_ms": ("time from nginx to uWSGI, 95th percentile", "ms"),
    "cpu": ("CPU of {}, of its limit", "%"),
    "throttled_service": ("time in which the kernel stopped {} for its CPU limit", "%"),
}
"""The figures of a diagnosis in words, each with its unit; `{}` is a service."""


def watched(name: str, value: float) -> tuple[str, str]:
    """A figure of a diagnosis: `("slots that were busy", "99.5 %")`. `db.cpu` is of a service.

    Answers are kept for years: a figure that is no longer watched keeps its name.
    """
    service_name, _, own = name.rpartition(".")
    key = "throttled_service" if service_name and own == "throttled" else own
    words, unit = WATCHED.get(key, ("", ""))
    known = figure(int(value) if value.is_integer() else value)
    shown = share(value) if unit == "%" else f"{known} {unit}".strip()
    return words.replace("{}", service_name) or name, shown


def spread(times: Spread, between: str) -> str:
    """Median, 95th percentile and the longest, in ms: `1.2 / 3.4 / 12.0`."""
    return between.join(map(figure, (times.p50_ms, times.p95_ms, times.max_ms)))


def statuses(by_status: Mapping[str, int]) -> str:
    """`200: 24 000, 502: 12`; 499 means that the client gave up."""
    return ", ".join(f"{status}: {thousands(number)}" for status, number in by_status.items())


def proxy_times(proxy: ProxyTimes) -> dict[str, Spread]:
    """The times of nginx by what they are of, in the order in which a request goes by."""
    return {
        "connect": proxy.connect,
        "header": proxy.header,
        "response": proxy.response,
        "request": proxy.request,
    }
