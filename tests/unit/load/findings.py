"""What the probe hands on, and a running target that hands it on."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from tuner.bench.measurement import Placement, RunningTarget, Speeds, Usage
from tuner.nouns.model import DEFAULT_COMMAND, Target
from tuner.uwsgi.topology import Front, Topology

TARGET = Target(
    target_app="app",
    port=8000,
    health_path="/up",
    command=DEFAULT_COMMAND,
    thread_safe=False,
    memory_per_process_mb=1,
)
CENSUS = {"processes": 2, "accepting": 2, "cheap": 0, "respawns": 0}
WORKER = {
    "id": 1,
    "pid": 7,
    "status": "idle",
    "accepting": 1,
    "requests": 7,
    "respawn_count": 1,
    "running_time": 9,
    "cores": [{}],
}


def stats(requests: int = 7) -> str:
    """uWSGI's stats with that many requests counted."""
    return json.dumps({"pid": 1, "sockets": [], "workers": [{**WORKER, "requests": requests}]})


STATS = stats()


def client(**changes: Any) -> dict[str, Any]:
    """What the load generator says of one window."""
    return {
        "rows": {
            "answered": 23,
            "requests": 18,
            "duration_s": 2.0,
            "loaded_s": 2.6,
            "latency_p50_ms": 2.0,
            "latency_p95_ms": 3.0,
            "latency_p99_ms": 4.0,
            "histogram": {"counts": {"127": 17, "200": 1}},
            "series": [4, 6, 8],
            "stalled": 3,
        },
        "sent": 24,
        "errors": {"http_500": 1, "connection error": 1},
        "over_limit": None,
        "connect": None,
        **changes,
    }


def answered(*statuses: int | str, length: int = 2) -> list[dict[str, Any]]:
    """What the probe says of requests that were tried one by one."""
    return [{"answer": status, "length": length} for status in statuses]


def window(**changes: Any) -> dict[str, Any]:
    """The findings of one window."""
    counters = {"stats": STATS, "listen_overflows": 3, "syn_drops": 0, "time_wait": 5}
    return {
        "before": counters,
        "after": {**counters, "listen_overflows": 10},
        "exit_code": 0,
        "client": client(),
        "client_error": "",
        "started_at": 1_700_000_000.0,
        "accepted": 30,
        "is_relayed": False,
        "host": {
            "cpus": 2,
            "busy_s": 3.0,
            "steal_s": 0.1,
            "client_s": 0.5,
            "own_s": 0.6,
            "pressure_s": None,
            "wall_s": 2.9,
        },
        "processes": {
            "busiest_cpu_s": 0.4,
            "master_cpu_s": 0.0,
            "router_cpu_s": None,
            "switches": 40,
        },
        "queue": {"p95": 6.0, "max": 9, "size": 100},
        "proxy": None,
        "over_time": {
            "queue": [0, 9, 6],
            "usage": {"app": {"cores": [0.5, 1.0, 0.75], "memory_mb": [40.0, 41.5, 42.0]}},
        },
        **changes,
    }


@dataclass
class Scripted:
    """A running target whose probe says what the test wants."""

    found: Any
    log: str = "the log"
    placement: Placement = Placement(target="0", generator="1")  # noqa: RUF009  it is frozen
    front: Front = field(default_factory=lambda: Front(topology=Topology.HTTP_SOCKET, port=8000))
    nofile: int = 1000
    client_nofile: int = 1000
    cgroup_folders: Mapping[str, str] = field(default_factory=lambda: {"app": "/tuner-cgroup-1"})
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    timeouts: list[float] = field(default_factory=list)
    carried: dict[str, bytes] = field(default_factory=dict)

    def run_beside(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        files: Mapping[str, bytes] | None = None,
        uid: int | None = None,
    ) -> str:
        self.carried.update(files or {})
        verb, words = argv[-2:]
        self.asked.append((verb, json.loads(self.carried.get(words, words))))
        self.timeouts.append(timeout_s)
        found = self.found[verb] if isinstance(self.found, Mapping) and verb in self.found else None
        found = self.found if found is None else found
        return found if isinstance(found, str) else json.dumps(found)

    def run_inside(self, argv: Sequence[str], *, timeout_s: float) -> bool:
        raise NotImplementedError  # nor does it run a command in the target

    def usage(self) -> Usage:
        raise NotImplementedError  # the load generator never reads the cgroup

    def cpu_speed(self) -> AbstractContextManager[Speeds]:
        raise NotImplementedError  # the driver of an arm asks

    def service_usage(self) -> Mapping[str, Usage]:
        return {}

    def refusal(self) -> str | None:
        return None

    def resume(self) -> None:
        """It has no services."""

    def rest(self) -> None:
        """It has no services."""

    def check_disk(self) -> dict[str, float]:
        return {}

    def effective_ini(self) -> str:
        return ""

    def log_tail(self) -> str:
        return self.log


def _is_one(running: Scripted) -> RunningTarget:
    """For the type checker."""
    return running
