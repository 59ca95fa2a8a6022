"""How full the accept queue was that the load fills, asked of the kernel through netlink.

/proc/net/tcp has the same figures, and twenty thousand lines of closed connections to go through;
it does not know unix sockets at all.
"""

import json
import math
import socket
import struct
import time
from typing import Any

from tuner.bench.load.probe import counters
from tuner.bench.load.probe.rows import SERIES_STEP_S

EVERY_S = 0.05
TIMEOUT_S = 0.5  # a kernel without socket diagnostics refuses at once

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
NLMSG_ERROR, NLMSG_DONE = 2, 3
LISTENING = 1 << 10
UDIAG_SHOW_NAME_AND_QUEUE = 0x01 | 0x10
UNIX_DIAG_NAME, UNIX_DIAG_RQLEN = 0, 4
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
INET_MESSAGE = struct.Struct("=BBBBHH44xIII")  # family .. ports, socket id, expires, two queues
UNIX_MESSAGE = struct.Struct("=BBBxIII")
ATTRIBUTE = struct.Struct("=HH")  # length, type
PAIR = struct.Struct("=II")

Socket = int | str  # a TCP port, or the name of a unix socket
Queue = tuple[int, int]  # connections waiting, connections that fit
Look = tuple[float, Queue]  # at an instant of the monotonic clock


def watched(front: dict[str, Any], stats: str | None) -> list[Socket]:
    """The listening sockets between the load and the processes that answer it."""
    if front["topology"] == "nginx":
        return [parse(front["socket"])]
    if front["topology"] == "http_router" and stats is not None:
        # The router takes connections fast; they then wait at the workers' own socket.
        return [front["port"], *(parse(each["name"]) for each in json.loads(stats)["sockets"])]
    return [front["port"]]


def is_relayed(sockets: list[Socket], front: dict[str, Any]) -> bool:
    """Whether each request crosses one more TCP connection, from a router or proxy to a worker."""
    return any(isinstance(each, int) and each != front["port"] for each in sockets)


def parse(address: str) -> Socket:
    """The socket that uWSGI calls `address`: host:port, a path, or @name."""
    _, colon, port = address.rpartition(":")
    if colon and port.isdigit():
        return int(port)
    return "\0" + address[1:] if address.startswith("@") else address


class Watch(counters.Watch):
    """Looks at the queues while its context lasts."""

    every_s = EVERY_S

    def __init__(self, sockets: list[Socket]) -> None:
        super().__init__()
        self._sockets = sockets
        self._seen: dict[Socket, list[Look]] = {each: [] for each in sockets}

    def look(self) -> None:
        """Look at all of them once. Raises `OSError`."""
        now_s = time.monotonic()
        for each, queue in look(self._sockets).items():
            self._seen[each].append((now_s, queue))

    def reading(self) -> dict[str, Any] | None:
        """The fullest of the queues; None where the kernel shows none of them."""
        looks = self._fullest()
        return reading_of([queue for _, queue in looks]) if looks else None

    def series(self, began_s: float, steps: int) -> list[int]:
        """Most connections that waited in this queue in each step; empty where none was seen."""
        looks = self._fullest()
        return most_of(looks, began_s, steps) if looks else []

    def _fullest(self) -> list[Look]:
        """The looks at the fullest of the queues."""
        seen = [looks for looks in self._seen.values() if looks]
        return max(seen, key=lambda looks: fill(reading_of([q for _, q in looks]))) if seen else []


def fill(reading: dict[str, Any]) -> tuple[float, float]:
    """How full a queue was, to compare it with another."""
    size = max(1, reading["size"])
    return reading["p95"] / size, reading["max"] / size


def reading_of(queues: list[Queue]) -> dict[str, Any]:
    """95th percentile and maximum of what waited."""
    waiting = sorted(number for number, _ in queues)
    return {
        "p95": float(waiting[math.ceil(0.95 * len(waiting)) - 1]),
        "max": waiting[-1],
        "size": queues[-1][1],
    }


def most_of(looks: list[Look], began_s: float, steps: int) -> list[int]:
    """The most of each step; steps after the last look drop.

    A step without a look, on a busy CPU, is like the one before it.
    """
    most: dict[int, int] = {}
    for at_s, (waiting, _) in looks:
        step = int((at_s - began_s) // SERIES_STEP_S)
        most[step] = max(waiting, most.get(step, 0))
    found: list[int] = []
    for step in range(min(steps, max(most) + 1)):
        found.append(most.get(step, found[-1] if found else 0))
    return found


def look(sockets: list[Socket]) -> dict[Socket, Queue]:
    """The queues of these listening sockets as they stand. Raises `OSError`."""
    found: dict[Socket, Queue] = {}
    if any(isinstance(each, int) for each in sockets):
        for family in (socket.AF_INET, socket.AF_INET6):
            for port, queue in tcp_queues(family):
                if port in sockets:
                    before = found.get(port, (0, 0))  # several may share a port
                    found[port] = (before[0] + queue[0], before[1] + queue[1])
    if any(isinstance(each, str) for each in sockets):
        found.update((name, queue) for name, queue in unix_queues() if name in sockets)
    return found


def tcp_queues(family: int) -> list[tuple[int, Queue]]:
    """Port and queue of every listening TCP socket of this network namespace."""
    request = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 0, LISTENING)
    queues = []
    for message in dump(request):
        _, _, _, _, port, _, _, waiting, size = INET_MESSAGE.unpack_from(message)
        queues.append((socket.ntohs(port), (waiting, size)))
    return queues


def unix_queues() -> list[tuple[str, Queue]]:
    """Name and queue of every listening unix socket that was made in this network namespace."""
    request = struct.pack(
        "=BBHIIIII", socket.AF_UNIX, 0, 0, LISTENING, 0, UDIAG_SHOW_NAME_AND_QUEUE, 0, 0
    )
    queues = []
    for message in dump(request):
        attributes = dict(attributes_of(message[UNIX_MESSAGE.size :]))
        name = attributes.get(UNIX_DIAG_NAME, b"")
        # The kernel ends the name of a path with a NUL; an abstract one begins with it.
        text = name[:1].decode() + name[1:].rstrip(b"\0").decode(errors="replace")
        waiting, size = PAIR.unpack_from(attributes[UNIX_DIAG_RQLEN])
        queues.append((text, (waiting, size)))
    return queues


def attributes_of(data: bytes) -> list[tuple[int, bytes]]:
    """Type and value of each netlink attribute."""
    found = []
    while len(data) >= ATTRIBUTE.size:
        length, kind = ATTRIBUTE.unpack_from(data)
        found.append((kind, data[ATTRIBUTE.size : length]))
        data = data[max(ATTRIBUTE.size, aligned(length)) :]
    return found


def dump(request: bytes) -> list[bytes]:
    """The bodies of all messages that answer a request. Raises `OSError`."""
    bodies: list[bytes] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as netlink:
        netlink.settimeout(TIMEOUT_S)
        length = HEADER.size + len(request)
        netlink.send(HEADER.pack(length, SOCK_DIAG_BY_FAMILY, DUMP, 1, 0) + request)
        while True:
            data = netlink.recv(65_536)
            while data:
                length, kind, _, _, _ = HEADER.unpack_from(data)
                if kind == NLMSG_DONE:
                    return bodies
                if kind == NLMSG_ERROR:
                    raise OSError(-struct.unpack_from("=i", data, HEADER.size)[0], "netlink")
                bodies.append(data[HEADER.size : length])
                data = data[aligned(length) :]


def aligned(length: int) -> int:
    """Netlink's parts begin at multiples of four bytes."""
    return (length + 3) & ~3
