"""Delays the packets from an app to its services by their round trip times.

It runs in the app's network namespace, in a container of its own. Routes lead the packets of all
protocols and ports to a TUN device. The program holds each one for the whole round trip and sends
it on from a raw socket: the way back has no delay. The kernel ends the routes with the program.
"""

import fcntl
import os
import select
import socket
import struct
import sys
import time
from collections import deque
from typing import Any, NamedTuple, NoReturn

from tuner.bench.load.probe.counters import DELAYS, slurp

DEVICE = "way0"
LINK = "eth0"  # the engine's name of a container's only network
READY = "delays packets"
OWN_S = 1e-4  # that a packet takes without being held: `make bench-round-trips`
LARGEST = 1 << 16  # bytes of a packet
QUEUE = 10_000  # packets that the kernel keeps for us; its default loses some of a bulk transfer

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x1, 0x1000
_RTM_NEWLINK, _RTM_NEWROUTE = 16, 24
_REQUEST, _CREATE = 0x1 | 0x4, 0x400  # the request asks for an answer
_IFF_UP, _IFLA_MTU, _IFLA_TXQLEN = 0x1, 4, 13
_TABLE_MAIN, _PROTO_STATIC, _SCOPE_LINK, _UNICAST, _RTA_DST, _RTA_OIF = 254, 4, 253, 1, 1, 4


class Line(NamedTuple):
    """The packets on their way to one service, each with the time at which it goes on."""

    hold_s: float
    held: deque[tuple[float, bytes]]


def delay(task: dict[str, float]) -> NoReturn:
    """Delay the packets to each service of `task` by its milliseconds. Raises `OSError`."""
    _write("/proc/self/comm", DELAYS)
    _write("/proc/self/timerslack_ns", "1")  # the kernel's 50 us would be a tenth of 0.5 ms
    lines = lines_of(addresses_of(task))
    tun = opened(lines)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as out:
        # Bound to the link, it does not take the routes to the TUN device.
        out.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, LINK.encode())
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
        while True:
            select.select([tun], [], [], wait_s(lines, time.monotonic()))
            take(tun, lines)
            for packet in due(lines, time.monotonic()):
                out.sendto(packet, (socket.inet_ntoa(packet[16:20]), 0))


def addresses_of(task: dict[str, float]) -> dict[bytes, float]:
    """The milliseconds by address. A service that has ended has none."""
    found = {}
    for name, ms in task.items():
        try:
            found[socket.inet_aton(socket.gethostbyname(name))] = ms
        except socket.gaierror:
            continue
    return found


def lines_of(round_trips_ms: dict[bytes, float]) -> dict[bytes, Line]:
    """A line for each address, without the time that the program itself takes."""
    return {
        address: Line(max(0.0, ms / 1000 - OWN_S), deque())
        for address, ms in round_trips_ms.items()
    }


def wait_s(lines: dict[bytes, Line], now: float) -> float | None:
    """Seconds until the next packet goes on; None if there is none."""
    first = min((line.held[0][0] for line in lines.values() if line.held), default=None)
    return None if first is None else max(0.0, first - now)


def take(tun: int, lines: dict[bytes, Line]) -> None:
    """Take the packets that have come. Those to other addresses are the kernel's own, of IPv6."""
    try:
        while True:
            packet = os.read(tun, LARGEST)
            line = lines.get(packet[16:20])
            if line is not None:
                line.held.append((time.monotonic() + line.hold_s, packet))
    except BlockingIOError:
        return


def due(lines: dict[bytes, Line], now: float) -> list[bytes]:
    """The packets whose time has come."""
    found = []
    for line in lines.values():
        while line.held and line.held[0][0] <= now:
            found.append(line.held.popleft()[1])
    return found


def opened(addresses: Any) -> int:
    """A TUN device with a route to each address."""
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    index = socket.if_nametoindex(DEVICE)
    mtu = int(slurp(f"/sys/class/net/{LINK}/mtu"))
    up = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, _IFF_UP, _IFF_UP)
    _ask(_RTM_NEWLINK, 0, up + _number(_IFLA_MTU, mtu) + _number(_IFLA_TXQLEN, QUEUE))
    for address in addresses:
        _ask(_RTM_NEWROUTE, _CREATE, route(address, index))
    return tun


def route(address: bytes, index: int) -> bytes:
    """The route to one address through the interface of this index, for netlink."""
    kinds = (_TABLE_MAIN, _PROTO_STATIC, _SCOPE_LINK, _UNICAST)
    head = struct.pack("=8BI", socket.AF_INET, 8 * len(address), 0, 0, *kinds, 0)
    return head + _attribute(_RTA_DST, address) + _number(_RTA_OIF, index)


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value


def _number(kind: int, value: int) -> bytes:
    return _attribute(kind, struct.pack("=I", value))


def _ask(kind: int, flags: int, body: bytes) -> None:
    """One request to the kernel's network. Raises `OSError`."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.send(struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | flags, 1, 0) + body)
        (code,) = struct.unpack_from("=i", netlink.recv(LARGEST), 16)
    if code:
        raise OSError(-code, os.strerror(-code))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
