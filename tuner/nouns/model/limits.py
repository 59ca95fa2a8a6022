"""The box: limits of a container, its kernel settings and those of its processes."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StrictInt, StrictStr, field_validator, model_validator

from tuner.nouns.model.base import Document, raise_for

# ---- Kernel settings: those that each network namespace has for itself, and those of the whole
# host
#
# A container has a network namespace of its own: /proc/sys/net of a new one on Linux 6.18 holds the
# first kind to write; the second kind is absent there, or read-only.

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


# ---- Limits of the processes in a container, as Compose has them

# fmt: off
_Name = Literal[
    "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc",
    "rss", "rtprio", "rttime", "sigpending", "stack",
]
# fmt: on


class Ulimit(Document):
    """A limit of each process; -1: none."""

    soft: int = Field(ge=-1, description="what counts until a process raises it")
    hard: int = Field(ge=-1, description="what a process may raise it to")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.hard != -1 and not -1 < self.soft <= self.hard:
            raise ValueError("soft must not be above hard")
        return self


def _both(given: Any) -> Any:
    """`65536` is the soft and the hard limit."""
    return {"soft": given, "hard": given} if isinstance(given, int) else given


Ulimits = dict[_Name, Annotated[Ulimit, BeforeValidator(_both)]]


# ---- The box: what production gives the app, and each container of a trial gets too

_CPU_LIST = re.compile(r"[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*")


def cpus_in(text: str) -> tuple[int, ...]:
    """`0-2,5` → (0, 1, 2, 5). Raises `ValueError`."""
    if _CPU_LIST.fullmatch(text) is None:
        raise ValueError("give CPUs as in 0-2,5")
    ids: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        ids.extend(range(int(first), int(last or first) + 1))
    return tuple(ids)


BOX_SIZES = ("cpus", "memory_mb", "somaxconn")
"""The numbers of a box, which the files of a comparison may vary."""


class Limits(Document):
    """The box that production gives the app; every container of a trial gets the same."""

    cpus: float = Field(1.0, gt=0, le=256, description="CPU quota, in cores")
    cpuset: str | None = Field(
        None, description="the host's CPUs that the app may use, as in 0-2,5; null: we choose"
    )
    client_cpus: int | None = Field(
        None, ge=1, le=256, description="CPUs of the load generator; null: as many as the app's"
    )
    memory_mb: int = Field(
        512, ge=16, le=1_048_576, description="hard memory limit, as of docker -m 512m; no swap"
    )
    somaxconn: int = Field(
        4096, ge=16, le=65_535, description="net.core.somaxconn of production's network namespace"
    )
    nofile: int | None = Field(
        None, ge=64, le=1 << 30, description="open files (ulimit -n); null: what the host grants"
    )
    sysctls: dict[str, StrictInt | Annotated[StrictStr, Field(max_length=100)]] = Field(
        {},
        max_length=64,
        description="its other kernel settings, as in {net.ipv4.tcp_syncookies: 0}",
    )

    @model_validator(mode="after")
    def _quota_fits(self) -> Self:
        if self.cpuset is not None and len(set(self.cpu_ids)) < self.cpus:
            raise ValueError(
                f"cpuset {self.cpuset} has fewer CPUs than cpus, which is {self.cpus:g}"
            )
        return self

    @property
    def cpu_ids(self) -> tuple[int, ...]:
        """The CPUs of `cpuset`; empty without one."""
        return cpus_in(self.cpuset) if self.cpuset is not None else ()

    @model_validator(mode="before")
    @classmethod
    def _somaxconn_once(cls, given: Any) -> Any:
        """A list of sysctls may have net.core.somaxconn, as those of Compose have it."""
        sysctls = given.get("sysctls") if isinstance(given, dict) else None
        if not isinstance(sysctls, dict) or SOMAXCONN not in sysctls:
            return given
        if "somaxconn" in given:
            raise ValueError(f"give somaxconn or {SOMAXCONN}, not both")
        others = {name: value for name, value in sysctls.items() if name != SOMAXCONN}
        return {**given, "sysctls": others, "somaxconn": sysctls[SOMAXCONN]}

    @field_validator("sysctls")
    @classmethod
    def _of_a_namespace(cls, given: dict[str, Sysctl]) -> dict[str, Sysctl]:
        return settled(given)

    @property
    def kernel_settings(self) -> dict[str, Sysctl]:
        """All kernel settings of the network namespace, by their names."""
        return {SOMAXCONN: self.somaxconn, **self.sysctls}

    def with_sysctls(self, more: Mapping[str, Sysctl]) -> Self:
        """The same box with these kernel settings, which replace its own."""
        if not more:
            return self  # as it was sent: an older service does not know the field
        return self.model_copy(update={"sysctls": {**self.sysctls, **settled(more)}})
