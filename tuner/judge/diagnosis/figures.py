"""The figures that the windows of one configuration show: one for each thing that is watched."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from tuner.nouns.model import Limits, ServiceFigures, Window

_WAITED_TOO_LONG = frozenset({"connect_timeout", "read_timeout", "timeout", "deadline"})
"""Errors of requests that waited too long: a full server makes them, not a fault of the app."""

_PROXY_GAVE_UP = frozenset({"http_499", "http_502", "http_503", "http_504"})
"""What a proxy answers when uWSGI does not accept the connection, or not in time."""

Figures = Mapping[str, float]


def figures_of(
    windows: Sequence[Window], limits: Limits, services: Mapping[str, ServiceFigures]
) -> dict[str, float]:
    """Medians over the windows by name; figures that no window has are left out.

    Shares are 0..1; of CPU they are of one core, but `target_cpu` is of the CPU limit and
    `client_cpu` of the generator's CPUs; `foreign_cpu` counts CPUs. `oom_kills` is a sum. Those of
    a service have its name before them: `postgres.cpu` is a share of its own limit.
    """
    found = {name: _middle(windows, read) for name, read in _WATCHED.items()}
    found["memory"] = _middle(
        windows, lambda w: w.memory_mb / limits.memory_mb if w.memory_mb else None
    )
    if any(window.server.oom_kills for window in windows):
        found["oom_kills"] = float(sum(window.server.oom_kills for window in windows))
    for name, used in services.items():
        found |= {f"{name}.cpu": used.cpu, f"{name}.throttled": used.throttled}
    return {name: round(value, 4) for name, value in found.items() if value is not None}


def _middle(windows: Sequence[Window], read: Callable[[Window], float | None]) -> float | None:
    values = [value for window in windows if (value := read(window)) is not None]
    return median(values) if values else None


def _app_error_rate(window: Window) -> float:
    """Share of requests that fail because of the app.

    Errors that a full queue makes are left out: timeouts, a proxy's own answers, and resets while
    the kernel drops connections.
    """
    waiting = _WAITED_TOO_LONG | (_PROXY_GAVE_UP if window.proxy else frozenset())
    if window.listen_overflows:
        waiting |= {"reset"}
    excused = sum(count for name, count in window.errors_by_class.items() if name in waiting)
    sent = max(window.sent, window.requests + window.errors)
    return max(0, window.errors - excused) / sent if sent else 0.0


def _queued(window: Window) -> float | None:
    """Connections that waited in the listen queue, 95th percentile."""
    share, size = window.server.queue_p95, window.server.queue_size
    return None if share is None or size is None else share * size


def _burst_work_s(window: Window) -> float | None:
    """Seconds of work in a burst, if every slot were busy from its start to its end."""
    is_burst = window.over_limit is not None and window.busy is not None
    return window.busy * window.duration_s if is_burst and window.busy else None


_WATCHED: Mapping[str, Callable[[Window], float | None]] = {
    "error_rate": lambda w: w.error_rate,
    "app_error_rate": _app_error_rate,
    "client_cpu": lambda w: w.client_cpu,
    "target_cpu": lambda w: w.target_cpu,
    "throttled": lambda w: w.throttled,
    "busy": lambda w: w.busy,
    "busiest_process": lambda w: w.server.busiest_process,
    "router": lambda w: w.server.router,
    "master": lambda w: w.server.master,
    "system_share": lambda w: w.server.system_share,
    "switches_per_request": lambda w: w.server.switches_per_request,
    "queue_p95": lambda w: w.server.queue_p95,
    "queued_connections_p95": _queued,
    "listen_overflows": lambda w: float(w.listen_overflows),
    "stalled_connections": lambda w: float(w.stalled) if w.stalled else None,
    "foreign_cpu": lambda w: w.surroundings.foreign_cpu,
    "cpu_with_services": lambda w: w.surroundings.with_services,
    "burst_work_s": _burst_work_s,
    "connections_per_request": lambda w: w.server.connections_per_request,
    "connect_p95_ms": lambda w: w.connect.p95_ms if w.connect else None,
    "proxy_connect_p95_ms": lambda w: w.proxy.connect.p95_ms if w.proxy else None,
}


# ---- The services beside an app: what they used, and which of them limits the app

FULL = 0.9  # share of its CPU limit that leaves a service no room
MOSTLY = 0.5  # share of its periods in which a service was throttled


def services_of(windows: Sequence[Window]) -> dict[str, ServiceFigures]:
    """The figures of each service, by name: medians over the windows.

    Kills are a sum. `written_mb` is the most: it grows from window to window of a block.
    """
    names = sorted({name for window in windows for name in window.services})
    return {
        name: _together([window.services[name] for window in windows if name in window.services])
        for name in names
    }


def _together(seen: Sequence[ServiceFigures]) -> ServiceFigures:
    return ServiceFigures(
        cores=median(each.cores for each in seen),
        cpu=_median(each.cpu for each in seen),
        is_limit_of_bench=seen[-1].is_limit_of_bench,
        throttled=_median(each.throttled for each in seen),
        rtt_ms=_median(each.rtt_ms for each in seen),
        memory_mb=median(each.memory_mb for each in seen),
        written_mb=max((w for each in seen if (w := each.written_mb) is not None), default=None),
        oom_kills=sum(each.oom_kills for each in seen),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def saturated(services: Mapping[str, ServiceFigures]) -> str | None:
    """The name of the service with the least CPU left, if that is none."""
    full = [name for name, each in services.items() if _pressure(each) >= 1]
    return max(full, key=lambda name: _pressure(services[name]), default=None)


def _pressure(used: ServiceFigures) -> float:
    """1 and more at its limit."""
    return max((used.cpu or 0.0) / FULL, (used.throttled or 0.0) / MOSTLY)
