"""What a measurement asks of a benchmark host: its containers, its load, its counters."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from tuner.errors import TargetFailed
from tuner.model import FailureCode, HostFingerprint, Limits, Target, Workload
from tuner.uwsgi.stats import Stats


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSpec:
    """Everything that starting one side takes. `ini` is the very file that would be deployed."""

    index: int
    ini: str
    target: Target
    limits: Limits

    @property
    def ini_sha256(self) -> str:
        """Names the file that this side runs."""
        return hashlib.sha256(self.ini.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildInfo:
    """The image of a target and what its uWSGI says of itself."""

    image_digest: str
    uwsgi_version: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The target's cgroup at one instant; all but `memory_mb` only ever grow."""

    cpu_s: float
    periods: int  # CFS periods in which the target wanted to run
    throttled_periods: int  # of these, the ones in which its quota ran out
    memory_mb: float  # working set: usage less inactive page cache, MB of 10^6 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReading:
    """What the load generator and the network namespace say about one stretch of load."""

    started_at: datetime
    duration_s: float
    requests: int  # answered with 2xx
    errors_by_class: Mapping[str, int]
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    client_cpu_s: float
    before: Stats | None
    after: Stats | None
    listen_overflows: int
    time_wait: int
    ports_exhausted: bool


class RunningTarget(Protocol):
    """A started target, with the load generator's container in its network namespace."""

    @property
    def client_cpus(self) -> int:
        """CPUs that the load generator may use."""

    @property
    def shares_cpus(self) -> bool:
        """Whether target and load generator could not be kept on different CPUs."""

    def run_beside(self, argv: Sequence[str], *, timeout_s: float) -> str:
        """Run a command in the load generator's container and return its standard output.

        Raises `TargetFailed` when the target has ended, else `Infrastructure` when the command
        failed.
        """

    def usage(self) -> Usage:
        """Read the target's cgroup."""

    def log_tail(self) -> str:
        """The last lines of the target's own output."""


class Launcher(Protocol):
    """Containers of this host."""

    def fingerprint(self) -> HostFingerprint:
        """What this host is."""

    def inspect(self, target: Target) -> BuildInfo:
        """Build or find the target's image. Raises `TargetFailed` where there is none."""

    def check(self, side: SideSpec) -> None:
        """Let uWSGI load the file and the app without serving. Raises `TargetFailed`."""

    def launch(self, side: SideSpec) -> AbstractContextManager[RunningTarget]:
        """Start a side; leaving the context removes its containers, whatever happened."""


class LoadGenerator(Protocol):
    """Drives load through a running target."""

    def wait_ready(self, running: RunningTarget, target: Target) -> None:
        """Wait for HTTP 200 with every uWSGI process accepting. Raises `TargetFailed`."""

    def drive(
        self, running: RunningTarget, target: Target, workload: Workload, duration_s: float
    ) -> LoadReading:
        """Send load for that long. Raises `TargetFailed` or `Infrastructure`."""


def target_failed(code: FailureCode, message: str, log_tail: str = "") -> TargetFailed:
    """A `TargetFailed` with a code of the model; the side is filled in by who knows it."""
    return TargetFailed(code.value, message, log_tail=log_tail)
