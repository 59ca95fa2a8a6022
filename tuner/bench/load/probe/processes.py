"""CPU time and context switches of uWSGI's processes, from their /proc.

The container shares the target's PID namespace, so uWSGI's stats give the pids. Without a shared
namespace, or for a process that was just replaced, there are no figures; that is not an error.
"""

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
DELAYS = "tuner-delay"
"""The name of the process that delays packets."""


class Process(NamedTuple):
    """One line of /proc/<pid>/stat. The name may hold blanks and parentheses."""

    name: str
    parent: int
    cpu_s: float


class Snapshot(NamedTuple):
    """The processes of one uWSGI at one instant, CPU seconds by pid."""

    workers: dict[int, float]
    switches: dict[int, int]  # of the workers
    master: float
    routers: dict[int, float]


def snapshot(stats: str | None, *, router: bool) -> Snapshot | None:
    """The processes now; None if no pid is uWSGI's. `router` asks for the router's processes too.

    A worker is known by its parent: in another PID namespace its pid is another process.
    """
    if stats is None:
        return None
    document = json.loads(stats)
    master = document.get("pid", 0)
    workers = {}
    for pid in [worker["pid"] for worker in document["workers"]]:
        process = read(pid)
        if process is not None and process.parent == master:
            workers[pid] = process.cpu_s
    itself = read(master)
    if not workers or itself is None:
        return None
    routers = {}
    if router:
        for pid, process in children(master).items():
            if pid not in workers and process.name == itself.name:
                routers[pid] = process.cpu_s
    return Snapshot(workers, {pid: switches(pid) for pid in workers}, itself.cpu_s, routers)


def difference(before: Snapshot | None, after: Snapshot | None) -> dict[str, Any] | None:
    """The usage between two snapshots, of the processes that are in both."""
    if before is None or after is None:
        return None
    stayed = before.workers.keys() & after.workers.keys()
    if not stayed:
        return None
    routers = before.routers.keys() & after.routers.keys()
    return {
        "busiest_cpu_s": max(after.workers[pid] - before.workers[pid] for pid in stayed),
        "master_cpu_s": after.master - before.master,
        "router_cpu_s": max(
            (after.routers[pid] - before.routers[pid] for pid in routers), default=None
        ),
        "switches": sum(after.switches[pid] - before.switches[pid] for pid in stayed),
    }


def read(pid: int) -> Process | None:
    """One process; None where there is none of that number."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return parse(file.read())
    except OSError:
        return None


def parse(stat: str) -> Process:
    """A line of /proc/<pid>/stat: the name stands in parentheses, the state follows it."""
    before, _, after = stat.rpartition(")")
    fields = after.split()
    ticks = int(fields[11]) + int(fields[12])
    return Process(before.partition("(")[2], int(fields[1]), ticks / TICKS_PER_S)


def children(parent: int) -> dict[int, Process]:
    """The processes that `parent` has started, by pid."""
    return {pid: process for pid, process in seen() if process.parent == parent}


def named(name: str) -> list[Process]:
    """The processes of this name."""
    return [process for _, process in seen() if process.name == name]


def seen() -> Iterator[tuple[int, Process]]:
    """All processes of this PID namespace, with their pids."""
    for name in os.listdir("/proc"):
        process = read(int(name)) if name.isdigit() else None
        if process is not None:
            yield int(name), process


def switches(pid: int) -> int:
    """Context switches of all threads of a process; 0 where it has just ended."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/status") as file:
                total += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
    except OSError:
        return total
    return total
