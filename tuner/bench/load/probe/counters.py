"""uWSGI's counters and those of the network namespace."""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

STATS_TIMEOUT_S = 2.0
STATS_TRIES = 3  # the master answers them; it may be busy with a new process
PAUSE_S = 0.02
PIECE = 65_536


class StatsGone(Exception):
    """uWSGI's stats do not answer: its master is gone, or too busy for seconds."""


def read(stats: str | None) -> dict[str, Any]:
    """All of them as they stand; without uWSGI those of the kernel. Raises `StatsGone`."""
    text = None if stats is None else insist(stats)
    tcp = paired(slurp("/proc/net/netstat"), "TcpExt:")
    return {
        "stats": text,
        "listen_overflows": tcp.get("ListenOverflows", 0),
        "syn_drops": tcp.get("TCPReqQFullDrop", 0) + tcp.get("TCPReqQFullDoCookies", 0),
        "time_wait": time_wait(slurp("/proc/net/sockstat")),
    }


def insist(stats: str) -> str:
    """uWSGI's stats, asked several times. Raises `StatsGone`."""
    for _ in range(STATS_TRIES):
        text = read_stats(stats, STATS_TIMEOUT_S)
        if text is not None:
            return text
        time.sleep(PAUSE_S)
    raise StatsGone(f"uWSGI's stats do not answer on {stats}")


def accepted() -> int:
    """TCP connections that were accepted in this network namespace so far."""
    return paired(slurp("/proc/net/snmp"), "Tcp:").get("PassiveOpens", 0)


def read_stats(address: str, timeout_s: float) -> str | None:
    """The JSON that uWSGI sends on each connect; None if there is no answer."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=timeout_s) as connection:
            return receive_all(connection) or None
    except OSError:
        return None


def requests(stats: str) -> int:
    """uWSGI's count of requests; 0 for stats that `tuner.bench.load.results` will refuse."""
    try:
        return sum(worker["requests"] for worker in json.loads(stats)["workers"])
    except (ValueError, KeyError):
        return 0


def is_idle(stats: str) -> bool:
    """Whether no worker of uWSGI has a request, and none waits; True for stats that are no JSON."""
    try:
        found = json.loads(stats)
        is_busy = any(worker["status"] == "busy" for worker in found["workers"])
        return not is_busy and not found.get("listen_queue")
    except (ValueError, KeyError):
        return True


def receive_all(
    connection: socket.socket, is_whole: Callable[[bytes], bool] = lambda _: False
) -> str:
    """Read until it is whole or the other end closes. A time-out after some bytes ends it too."""
    received = b""
    try:
        while not is_whole(received) and (piece := connection.recv(PIECE)):
            received += piece
    except TimeoutError:
        if not received:
            raise
    return received.decode(errors="replace")


def paired(text: str, group: str) -> dict[str, int]:
    """One group of /proc/net/netstat or snmp: lines come in pairs, names above values."""
    lines = [line.split() for line in text.splitlines()]
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        if names[0] == group:
            return {name: int(value) for name, value in zip(names[1:], values[1:], strict=False)}
    return {}


def time_wait(sockstat: str) -> int:
    """From /proc/net/sockstat: `TCP: inuse 5 orphan 0 tw 7 alloc 9 mem 1`."""
    for line in sockstat.splitlines():
        words = line.split()
        if words[:1] == ["TCP:"] and "tw" in words:
            return int(words[words.index("tw") + 1])
    return 0


def slurp(path: str) -> str:
    """A file of /proc as text."""
    with open(path) as file:
        return file.read()


# ---- CPU time and context switches of uWSGI's processes, from their /proc
#
# The container shares the target's PID namespace, so uWSGI's stats give the pids. Without a shared
# namespace, or for a process that was just replaced, there are no figures; that is not an error.

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
        process = read_process(pid)
        if process is not None and process.parent == master:
            workers[pid] = process.cpu_s
    itself = read_process(master)
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


def read_process(pid: int) -> Process | None:
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
        process = read_process(int(name)) if name.isdigit() else None
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


# ---- Looking at something again and again while the load runs


class Watch:
    """Calls `look` every `every_s` from a thread of its own while its context lasts.

    An `OSError` ends that: the kernel does not have what is looked at, or keeps it from us.
    """

    every_s: float

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Look once. Raises `OSError`."""
        raise NotImplementedError

    def _run(self) -> None:
        try:
            while not self._ended.wait(self.every_s):
                self.look()
        except OSError:
            return
