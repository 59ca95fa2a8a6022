"""Kernel settings: those that each network namespace has for itself, and those of the whole host.

A container has a network namespace of its own: /proc/sys/net of a new one on Linux 6.18 holds the
first kind to write; the second kind is absent there, or read-only.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from tuner.nouns.model.document import raise_for

Sysctl = int | str
"""A number, or the three of a size: `4096 131072 6291456`."""

SOMAXCONN = "net.core.somaxconn"

_NUMBER = re.compile(r"[0-9]{1,10}")
_ROOTS = ("fs.", "kernel.", "net.", "vm.")
_MOST = 2**31 - 1
_MOST_S = _MOST // 1000  # the kernel counts up to 1000 ticks a second


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Whole numbers from `low` to `high`; several are in ascending order."""

    low: int
    high: int
    count: int = 1

    def read(self, given: object) -> Sysctl:
        """The value as it is stored. Raises `ValueError`."""
        words = str(given).split()
        numbers = [int(word) for word in words if _NUMBER.fullmatch(word)]
        fits = len(numbers) == len(words) == self.count and numbers == sorted(numbers)
        if not fits or not all(self.low <= number <= self.high for number in numbers):
            wanted = "a number" if self.count == 1 else f"{self.count} numbers, the least first,"
            raise ValueError(f"give {wanted} from {self.low} to {self.high}")
        return numbers[0] if self.count == 1 else " ".join(map(str, numbers))


_SIZES = _Numbers(1, _MOST, count=3)  # least, at first, most; in bytes
OF_A_NAMESPACE: Mapping[str, _Numbers] = {
    "net.ipv4.tcp_abort_on_overflow": _Numbers(0, 1),
    "net.ipv4.tcp_fin_timeout": _Numbers(1, _MOST_S),
    "net.ipv4.tcp_keepalive_intvl": _Numbers(1, _MOST_S),
    "net.ipv4.tcp_keepalive_probes": _Numbers(1, 255),
    "net.ipv4.tcp_keepalive_time": _Numbers(1, _MOST_S),
    "net.ipv4.tcp_max_syn_backlog": _Numbers(1, _MOST),
    "net.ipv4.tcp_max_tw_buckets": _Numbers(0, _MOST),
    "net.ipv4.tcp_rmem": _SIZES,
    "net.ipv4.tcp_slow_start_after_idle": _Numbers(0, 1),
    "net.ipv4.tcp_syn_retries": _Numbers(1, 127),
    "net.ipv4.tcp_synack_retries": _Numbers(0, 255),
    "net.ipv4.tcp_syncookies": _Numbers(0, 2),
    "net.ipv4.tcp_tw_reuse": _Numbers(0, 2),
    "net.ipv4.tcp_wmem": _SIZES,
}
"""What a container may have for itself, with the values of each."""

_BUFFERS = "it is for all sockets of the kernel, and those of TCP have net.ipv4.tcp_{}"
OF_THE_HOST: Mapping[str, str] = {
    "net.core.netdev_max_backlog": "each CPU of the host has one queue for all namespaces",
    "net.core.rmem_default": _BUFFERS.format("rmem"),
    "net.core.rmem_max": _BUFFERS.format("rmem"),
    "net.core.wmem_default": _BUFFERS.format("wmem"),
    "net.core.wmem_max": _BUFFERS.format("wmem"),
    "net.ipv4.tcp_max_orphans": "all TCP connections are counted together",
    "net.ipv4.tcp_mem": "the memory of all TCP connections is counted together",
}
"""What only the host has, with the reason."""


def is_sysctl(name: str) -> bool:
    """Whether a name is that of a kernel setting, and not of an option of uWSGI."""
    return name.startswith(_ROOTS)


def settled(given: Mapping[str, object]) -> dict[str, Sysctl]:
    """The settings as they are stored. Raises a `ValidationError` that names each mistake."""
    found: dict[str, Sysctl] = {}
    mistakes: list[tuple[tuple[str | int, ...], str]] = []
    for name, value in given.items():
        try:
            found[name] = read(name, value)
        except ValueError as error:
            mistakes.append(((name,), str(error)))
    raise_for(mistakes)
    return found


def read(name: str, given: object) -> Sysctl:
    """The value of one setting as it is stored. Raises `ValueError` with what to do instead."""
    if name in OF_A_NAMESPACE:
        return OF_A_NAMESPACE[name].read(given)
    if name == SOMAXCONN:
        raise ValueError("give limits.somaxconn instead")
    if name in OF_THE_HOST:
        raise ValueError(
            f"belongs to the whole host, not to a container: {OF_THE_HOST[name]}; set it where the"
            f" app runs and on the benchmark hosts: sysctl -w {name}={shlex.quote(str(given))}"
        )
    known = ", ".join(OF_A_NAMESPACE)
    raise ValueError(f"not known as a setting of a network namespace: choose from {known}")
