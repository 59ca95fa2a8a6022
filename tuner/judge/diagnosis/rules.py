"""Figures to a class: the rules, in the order in which they are tried.

| class             | what shows it                                                              |
|-------------------|----------------------------------------------------------------------------|
| `memory`          | the kernel killed processes for memory                                     |
| `backing_service` | requests fail, and a log says that a service refused connections           |
| `app_errors`      | over 1 % of the requests fail because of the app                           |
| `memory`          | the working set is near the limit                                          |
| `load_generator`  | its CPU is full while the target's is not                                  |
| `router`          | uWSGI's http router fills a core                                           |
| `log_sink`        | uWSGI's master, which writes the log with `log-master`, fills half a core  |
| `lock_contention` | many processes, few requests in them, CPU spent in the kernel on switches  |
| `cpu_quota`       | the CPU limit is used up                                                   |
| `backing_service` | a service beside the app has used up its CPU limit                         |
| `cpu_quota`       | app and services use up the CPUs that they share                           |
| `gil`             | a process fills a core, and CPU is left                                    |
| `io_wait`         | every slot is busy, CPU is left                                            |
| `backlog`         | connections wait to be accepted while slots are free                       |
| `log_sink`        | connections wait while slots, CPU and generator are idle: a worker writes  |
|                   | its log line after the request's clock has stopped                         |
| `concurrency`     | every connection has a slot, and nothing is full                           |
| `app_errors`      | requests fail, and nothing else explains it                                |

Thresholds come from runs of the target apps (uWSGI 2.0.31).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tuner.judge.diagnosis.figures import Figures, saturated
from tuner.nouns.model import Bottleneck, ServiceFigures

CONNECT_WAITS_MS = 900.0
"""A connect that takes this long was dropped once: the kernel repeats it after a second."""

MUCH_FOREIGN_CPU = 0.3
"""CPUs of something else; with more of them busy, an idle target may be waiting for a CPU."""

MUCH_ROUTER = 0.2
"""Of the CPU limit; a router that uses so much of a full limit takes it from the app."""

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
        """Whether app and services use up CPUs that they share, and the app is below its limit."""
        own_is_full = self.get("target_cpu") >= _FULL or self.get("throttled") > _THROTTLED
        return self.get("cpu_with_services") >= _FULL and not own_is_full

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
