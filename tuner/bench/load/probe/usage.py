"""The whole host as /proc shows it, and the app and its services as their cgroups do."""

import bisect
import os
import re
import resource
import time
from typing import Any, NamedTuple, Self

from tuner.bench.load.probe import counters
from tuner.bench.load.probe.counters import (
    DELAYS,
    TICKS_PER_S,
    children,
    named,
    read_process,
    slurp,
)
from tuner.bench.load.probe.rows import SERIES_STEP_S

# ---- The whole host as /proc shows it, and what the harness itself uses of it

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
    """CPU times of all CPUs together. The time of guests is in user time already."""
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
    itself = read_process(master)
    if itself is None:
        return 0.0
    return itself.cpu_s + sum(child.cpu_s for child in children(master).values())


def delay_cpu_s() -> float:
    """CPU time of the program that delays packets, on the same CPUs; 0 where there is none."""
    return sum(process.cpu_s for process in named(DELAYS))


# ---- CPU time and memory of the app and of its services, from their cgroups of either version
#
# The engine mounts the cgroups (`tuner.bench.engine.counters`). A sample of a container takes
# 0.05 ms of CPU.

BYTES_PER_MB = 1 << 20


class Sample(NamedTuple):
    """One container at one instant of the monotonic clock."""

    at_s: float
    cpu_s: float
    memory_mb: float  # working set: without inactive page cache


class Watch(counters.Watch):
    """Samples cgroups, by the names of their containers, at both ends of its context too.

    One whose container has ended has no further samples.
    """

    every_s = SERIES_STEP_S

    def __init__(self, folders: dict[str, str]) -> None:
        super().__init__()
        self._folders = folders
        self.samples: dict[str, list[Sample]] = {name: [] for name in folders}

    def __enter__(self) -> Self:
        self.look()
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.look()

    def look(self) -> None:
        """One sample of each."""
        for name, folder in self._folders.items():
            try:
                self.samples[name].append(read(folder))
            except OSError:
                continue

    def series(self, began_s: float, steps: int) -> dict[str, dict[str, Any]]:
        """`tuner.nouns.model.UsageSeries` of each container that was seen."""
        return {
            name: series_of(samples, began_s, steps)
            for name, samples in self.samples.items()
            if len(samples) > 1
        }


def read(folder: str) -> Sample:
    """A sample of the cgroup that is mounted there. Raises `OSError`."""
    at_s = time.monotonic()
    if os.path.exists(f"{folder}/cpu.stat"):  # version 2: one folder for all
        cpu_s = line(f"{folder}/cpu.stat", "usage_usec") / 1e6
        held = int(slurp(f"{folder}/memory.current"))
        unused = line(f"{folder}/memory.stat", "inactive_file")
    else:
        cpu_s = int(slurp(f"{folder}/cpuacct/cpuacct.usage")) / 1e9
        held = int(slurp(f"{folder}/memory/memory.usage_in_bytes"))
        unused = line(f"{folder}/memory/memory.stat", "total_inactive_file")
    return Sample(at_s, cpu_s, max(0, held - unused) / BYTES_PER_MB)


def line(path: str, name: str) -> int:
    """The number of one line of a file; 0 where there is no such line. Raises `OSError`."""
    found = re.search(rf"^{name} (\d+)$", slurp(path), re.MULTILINE)
    return int(found[1]) if found else 0


def series_of(samples: list[Sample], began_s: float, steps: int) -> dict[str, Any]:
    """CPUs in use of each step, and the memory in its middle; steps after the last sample drop.

    Samples come when they come, most of all on a busy CPU: what lies between two is in proportion.
    """
    times = [each.at_s for each in samples]
    cpu_s, memory_mb = [each.cpu_s for each in samples], [each.memory_mb for each in samples]
    steps = max(0, min(steps, int((times[-1] - began_s) / SERIES_STEP_S)))
    edges = [between(times, cpu_s, began_s + n * SERIES_STEP_S) for n in range(steps + 1)]
    middles = [began_s + (n + 0.5) * SERIES_STEP_S for n in range(steps)]
    return {
        "cores": [round((edges[n + 1] - edges[n]) / SERIES_STEP_S, 3) for n in range(steps)],
        "memory_mb": [round(between(times, memory_mb, middle), 1) for middle in middles],
    }


def between(times: list[float], values: list[float], when: float) -> float:
    """The value at a time, on the straight line through the samples before and after it."""
    after = min(max(1, bisect.bisect_left(times, when)), len(times) - 1)
    whole = times[after] - times[after - 1]
    share = (when - times[after - 1]) / whole if whole > 0 else 1.0
    return values[after - 1] + share * (values[after] - values[after - 1])
