"""Figures to a class: what is watched, and the rules in the order in which they are tried."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from tuner.nouns.model import Bottleneck, Limits, ServiceFigures, Window

# ---- The figures that the windows of one configuration show: one for each thing that is watched

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
    found = {name: _middle(windows, read) for name, read in WATCHED.items()}
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


WATCHED: Mapping[str, Callable[[Window], float | None]] = {
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


# ---- Figures to a class: the rules, in the order in which they are tried
#
# | class             | what shows it                                                              |
# |-------------------|----------------------------------------------------------------------------|
# | `memory`          | the kernel killed processes for memory                                     |
# | `backing_service` | requests fail, and a log says that a service refused connections           |
# | `app_errors`      | over 1 % of the requests fail because of the app                           |
# | `memory`          | the working set is near the limit                                          |
# | `load_generator`  | its CPU is full while the target's is not                                  |
# | `router`          | uWSGI's http router fills a core                                           |
# | `log_sink`        | uWSGI's master, which writes the log with `log-master`, fills half a core  |
# | `lock_contention` | many processes, few requests in them, CPU spent in the kernel on switches  |
# | `cpu_quota`       | the CPU limit is used up                                                   |
# | `backing_service` | a service beside the app has used up its CPU limit                         |
# | `cpu_quota`       | app and services use up the CPUs that they share                           |
# | `gil`             | a process fills a core, and CPU is left                                    |
# | `io_wait`         | every slot is busy, CPU is left                                            |
# | `backlog`         | connections wait to be accepted while slots are free                       |
# | `log_sink`        | connections wait while slots, CPU and generator are idle: a worker writes  |
# |                   | its log line after the request's clock has stopped                         |
# | `concurrency`     | every connection has a slot, and nothing is full                           |
# | `app_errors`      | requests fail, and nothing else explains it                                |
#
# Thresholds come from runs of the target apps (uWSGI 2.0.31).

CONNECT_WAITS_MS = 900.0
"""A connect that takes this long was dropped once: the kernel repeats it after a second."""

MUCH_FOREIGN_CPU = 0.3
"""CPUs of something else; with more of them busy, an idle target may be waiting for a CPU."""

MUCH_ROUTER = 0.2
"""Share of the CPU limit; a router that uses so much of a full limit takes it from the app."""

OF_ANY_SERVER = frozenset(
    {
        *(Bottleneck.MEMORY, Bottleneck.BACKING_SERVICE, Bottleneck.APP_ERRORS),
        *(Bottleneck.LOAD_GENERATOR, Bottleneck.CPU_QUOTA),
    }
)
"""What cgroup, kernel and client show of a server that is not uWSGI."""

_FULL = 0.85  # share of a CPU, or of the quota, that leaves no room
_THROTTLED = 0.2  # share of CFS periods
_ALL_BUSY = 0.85  # share of slots
_FEW_BUSY = 0.7
_IDLE = 0.5
_HERD = 8  # processes
_ANEW = 0.5  # connections for each request
_MANY_ERRORS = 0.01  # share of the requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The figures of one configuration with its limits."""

    evidence: Figures
    cpus: float
    processes: int
    threads: int
    connections: int | None  # that a closed loop keeps open; None under open load
    limit_s: float | None = None  # time limit of a burst
    services: Mapping[str, ServiceFigures] = field(default_factory=dict)
    refusal: str | None = None  # a line of a log: a service refused connections
    wants_kept: bool = False  # the client wants to send several requests on one connection
    is_uwsgi: bool = True  # another server has no slots, and options of its own

    def get(self, name: str, default: float = 0.0) -> float:
        """A figure, or `default` where it is unknown."""
        return self.evidence.get(name, default)

    @property
    def slots(self) -> int:
        """Requests that uWSGI can handle at once."""
        return self.processes * self.threads

    @property
    def one_core(self) -> float:
        """What a single process can use, in cores: a whole core, or the quota if it is less."""
        return min(1.0, self.cpus)

    @property
    def connects_wait(self) -> bool:
        """Whether connections waited before uWSGI accepted them."""
        slowest = max(self.get("connect_p95_ms"), self.get("proxy_connect_p95_ms"))
        return self.get("listen_overflows") > 0 or slowest >= CONNECT_WAITS_MS

    @property
    def opens_anew(self) -> bool:
        """Whether the server closes the connections that the client wants to keep."""
        return self.wants_kept and self.get("connections_per_request") > _ANEW

    @property
    def is_refused(self) -> bool:
        """Whether requests fail because a service allows too few connections."""
        return self.refusal is not None and self.get("error_rate") > _MANY_ERRORS

    @property
    def shares_full_cpus(self) -> bool:
        """Whether app and services use up CPUs that they share, and the app is below its limit.

        In production the others may be busy while the app sleeps: `waited_for_cpu` says so.
        """
        own_is_full = self.get("target_cpu") >= _FULL or self.get("throttled") > _THROTTLED
        waits = self.get("waited_for_cpu", 1.0) > _THROTTLED
        return self.get("cpu_with_services") >= _FULL and waits and not own_is_full

    @property
    def is_overwhelmed(self) -> bool:
        """Whether a burst is more work than the slots can do in time, however long the queue is."""
        return self.limit_s is not None and self.get("burst_work_s") > self.limit_s

    @property
    def has_slot_for_all(self) -> bool:
        """Whether every connection has a slot, so that more slots cannot help."""
        return self.connections is not None and self.connections <= self.slots


def classify(seen: Seen) -> Bottleneck:
    """The first class whose rule holds."""
    tried = (rule for rule in _RULES if seen.is_uwsgi or rule[0] in OF_ANY_SERVER)
    return next((kind for kind, holds in tried if holds(seen)), Bottleneck.UNKNOWN)


def _load_generator(seen: Seen) -> bool:
    return (
        seen.get("client_cpu") > _FULL
        and seen.get("busy") < _FEW_BUSY
        and seen.get("target_cpu") < _FULL
    )


def _lock_contention(seen: Seen) -> bool:
    return (
        seen.processes >= _HERD
        and seen.get("busy", 1.0) < _FEW_BUSY
        and seen.get("system_share") > 0.6
        and seen.get("switches_per_request") >= 4
    )


def _gil(seen: Seen) -> bool:
    cpu = seen.get("target_cpu")
    if "busiest_process" in seen.evidence:
        return seen.get("busiest_process") >= _FULL and cpu < _FULL
    return seen.threads > 1 and seen.get("busy") >= 0.8 and 0.6 <= cpu < _FULL


def _cpu_quota(seen: Seen) -> bool:
    """Also where the slots idle while dropped connections wait for their repeat."""
    cpu = seen.get("target_cpu")
    if cpu >= _FULL or seen.get("throttled") > _THROTTLED:
        return True
    return seen.is_overwhelmed and cpu >= _FULL * seen.get("busy", 1.0)


def _io_wait(seen: Seen) -> bool:
    return seen.is_overwhelmed or (
        seen.get("busy") >= _ALL_BUSY
        and seen.get("target_cpu") < 0.75
        and seen.get("busiest_process") < 0.75
        and not seen.has_slot_for_all
    )


def _backlog(seen: Seen) -> bool:
    return seen.connects_wait and seen.get("busy") < 0.9


def _blocked_after_requests(seen: Seen) -> bool:
    idle = (
        seen.get("busy", 1.0) < _IDLE
        and seen.get("target_cpu", 1.0) < _IDLE
        and seen.get("client_cpu") < _FEW_BUSY
        and "stalled_connections" not in seen.evidence
        and seen.get("foreign_cpu") < MUCH_FOREIGN_CPU
    )
    return idle and _work_waits(seen)


def _work_waits(seen: Seen) -> bool:
    """Whether there was work to do all the time.

    In a closed loop every connection beyond the slots waits. Under open load only a queue that
    fills up shows it.
    """
    if seen.connections is None:
        return seen.get("queue_p95") > 0.5
    return seen.connections > seen.slots and seen.get("queued_connections_p95", 1.0) >= 1


_RULES: tuple[tuple[Bottleneck, Callable[[Seen], bool]], ...] = (
    (Bottleneck.MEMORY, lambda seen: seen.get("oom_kills") > 0),
    (Bottleneck.BACKING_SERVICE, lambda seen: seen.is_refused),
    (Bottleneck.APP_ERRORS, lambda seen: seen.get("app_error_rate") > _MANY_ERRORS),
    (Bottleneck.MEMORY, lambda seen: seen.get("memory") > 0.92),
    (Bottleneck.LOAD_GENERATOR, _load_generator),
    (Bottleneck.ROUTER, lambda seen: seen.get("router") >= _FULL * seen.one_core),
    (Bottleneck.LOG_SINK, lambda seen: seen.get("master") >= 0.5 * seen.one_core),
    (Bottleneck.LOCK_CONTENTION, _lock_contention),
    (Bottleneck.CPU_QUOTA, _cpu_quota),
    (Bottleneck.BACKING_SERVICE, lambda seen: saturated(seen.services) is not None),
    (Bottleneck.CPU_QUOTA, lambda seen: seen.shares_full_cpus),
    (Bottleneck.GIL, _gil),
    (Bottleneck.IO_WAIT, _io_wait),
    (Bottleneck.BACKLOG, _backlog),
    (Bottleneck.LOG_SINK, _blocked_after_requests),
    (Bottleneck.CONCURRENCY, lambda seen: seen.has_slot_for_all and bool(seen.evidence)),
    (Bottleneck.APP_ERRORS, lambda seen: seen.get("error_rate") > _MANY_ERRORS),
)
