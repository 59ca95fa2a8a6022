"""The whole host as /proc shows it, and what the harness itself uses of it."""

import os
import resource
from typing import Any

from tuner.bench.load.probe.counters import slurp
from tuner.bench.load.probe.processes import DELAYS, TICKS_PER_S, children, named, read

NGINX_PID = "/tmp/nginx.pid"  # noqa: S108  # the engine's nginx writes it there


def snapshot() -> dict[str, Any]:
    """Everything that only ever grows."""
    return {
        **cpu_times(slurp("/proc/stat")),
        "client_s": cpu_s(resource.RUSAGE_CHILDREN) + nginx_cpu_s() + delay_cpu_s(),
        "probe_s": cpu_s(resource.RUSAGE_SELF),
        "pressure_s": pressure_s(),
    }


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What was used in between."""
    client_s = after["client_s"] - before["client_s"]
    pressure = None
    if before["pressure_s"] is not None and after["pressure_s"] is not None:
        pressure = after["pressure_s"] - before["pressure_s"]
    return {
        "cpus": after["cpus"],
        "busy_s": after["busy_s"] - before["busy_s"],
        "steal_s": after["steal_s"] - before["steal_s"],
        "client_s": client_s,
        "own_s": client_s + after["probe_s"] - before["probe_s"],
        "pressure_s": pressure,
    }


def cpu_times(stat: str) -> dict[str, Any]:
    """Of all CPUs together. The time of guests is in user time already."""
    lines = [line.split() for line in stat.splitlines() if line.startswith("cpu")]
    user, nice, system, _, _, irq, softirq, steal = (int(word) for word in lines[0][1:9])
    return {
        "cpus": len(lines) - 1,
        "busy_s": (user + nice + system + irq + softirq) / TICKS_PER_S,
        "steal_s": steal / TICKS_PER_S,
    }


def pressure_s() -> float | None:
    """For how long something has waited for a CPU; None on a kernel that does not say."""
    try:
        return parse_pressure(slurp("/proc/pressure/cpu"))
    except OSError:
        return None


def parse_pressure(text: str) -> float | None:
    """From `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345` (microseconds)."""
    for line in text.splitlines():
        kind, *pairs = line.split()
        if kind == "some":
            return int(dict(pair.split("=") for pair in pairs)["total"]) / 1e6
    return None


def cpu_s(who: int) -> float:
    """CPU time of this process, or of the commands that it has run to their end."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def nginx_cpu_s() -> float:
    """CPU time of the nginx in this container; 0 where there is none."""
    if not os.path.exists(NGINX_PID):
        return 0.0
    try:
        master = int(slurp(NGINX_PID))
    except (OSError, ValueError):
        return 0.0
    itself = read(master)
    if itself is None:
        return 0.0
    return itself.cpu_s + sum(child.cpu_s for child in children(master).values())


def delay_cpu_s() -> float:
    """CPU time of the program that delays packets, on the same CPUs; 0 where there is none."""
    return sum(process.cpu_s for process in named(DELAYS))
