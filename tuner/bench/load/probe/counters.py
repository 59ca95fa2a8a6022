"""uWSGI's counters and those of the network namespace."""

import json
import socket
import time
from collections.abc import Callable
from typing import Any

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
