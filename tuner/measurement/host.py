"""What a measurement asks of a benchmark host: its containers, its load, its counters."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from tuner.errors import TargetFailed
from tuner.model import (
    ClientFigures,
    FailureCode,
    HostFingerprint,
    Limits,
    Load,
    Target,
    Workload,
)
from tuner.uwsgi.stats import Stats
from tuner.uwsgi.topology import Front


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSpec:
    """Everything that starting one arm takes. `ini` is the very file that runs.

    That is the one that would be deployed, less what trials go without (`arms.arm_of`).
    """

    index: int
    ini: str
    target: Target
    limits: Limits

    @property
    def ini_sha256(self) -> str:
        """Names the file that this arm runs."""
        return hashlib.sha256(self.ini.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildInfo:
    """The image of a target and what its uWSGI says of itself."""

    image_digest: str
    uwsgi_version: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What uWSGI says of a file that it loads without serving.

    `somaxconn` is net.core.somaxconn as uWSGI reads it there, None where it cannot; `effective_ini`
    holds the merged options, those of the command and of included files among them.
    """

    somaxconn: int | None = None
    effective_ini: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The target's cgroup at one instant; all but `memory_mb` only ever grow."""

    cpu_s: float
    periods: int  # CFS periods in which the target wanted to run
    throttled_periods: int  # of these, the ones in which its quota ran out
    memory_mb: float  # working set: usage less inactive page cache, in MB
    system_cpu_s: float | None = None  # of cpu_s, what the kernel took
    memory_peak_mb: float | None = None  # since the start, page cache included
    oom_kills: int = 0
    engine_cpu_s: float | None = None  # of the engine's own processes, which take the target's log


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReading:
    """CPU seconds and context switches of uWSGI's processes over one run, from their /proc."""

    busiest_cpu_s: float  # the worker process that used most
    master_cpu_s: float
    router_cpu_s: float | None  # the http router's busiest process; None where there is none
    switches: int  # voluntary and forced, all worker processes together


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReading:
    """The accept queue that the load fills, looked at some twenty times a second."""

    p95: float  # connections waiting
    max: int
    size: int  # connections that fit


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReading:
    """The whole host over one run, in CPU seconds; `own_s` is what the harness itself used.

    `wall_s` is the time between the two looks: it holds what was waited for in vain.
    """

    cpus: int
    busy_s: float
    steal_s: float
    own_s: float  # load generator, probe and proxy
    wall_s: float
    pressure_s: float | None = None  # in which something waited for a CPU; None without PSI


@dataclass(frozen=True, kw_only=True)
class LoadReading(ClientFigures):
    """What the load generator and the network namespace say about one run of load.

    The run took `wall_s` from the first request to the last answer. Where requests are never
    answered it goes on until they time out. Shares of CPU and of slots are of `wall_s`.
    """

    wall_s: float
    client_cpu_s: float
    before: Stats | None
    after: Stats | None
    ports_exhausted: bool
    processes: ProcessReading | None = None
    queue: QueueReading | None = None
    host: HostReading | None = None


class RunningTarget(Protocol):
    """A started target, with the load generator's container in its network namespace."""

    @property
    def client_cpus(self) -> int:
        """CPUs that the load generator may use."""

    @property
    def shares_cpus(self) -> bool:
        """Whether target and load generator could not be kept on different CPUs."""

    @property
    def front(self) -> Front:
        """How the load reaches uWSGI: which of its sockets, and what is before it."""

    @property
    def nofile(self) -> int:
        """Open files that target and load generator may have each."""

    def run_beside(
        self, argv: Sequence[str], *, timeout_s: float, files: Mapping[str, bytes] | None = None
    ) -> str:
        """Run a command in the load generator's container and return its standard output.

        `files`, by absolute path below /tmp, are there before it starts. Raises `TargetFailed`
        when the target has ended, else `Infrastructure` when the command failed.
        """

    def usage(self) -> Usage:
        """Read the target's cgroup."""

    def effective_ini(self) -> str:
        """The merged options that uWSGI printed at its start; empty where it printed none."""

    def log_tail(self) -> str:
        """The last lines of the target's own output."""


class Launcher(Protocol):
    """Containers of this host."""

    def fingerprint(self) -> HostFingerprint:
        """What this host is."""

    def inspect(self, target: Target) -> BuildInfo:
        """Build or find the target's image. Raises `TargetFailed` where there is none."""

    def check(self, arm: ArmSpec) -> Checked:
        """Let uWSGI load the file and the app without serving. Raises `TargetFailed`."""

    def strict(self, arm: ArmSpec) -> str:
        """What a strict uWSGI refuses of the file, in its words, loading nothing; empty: nothing.

        Raises `TargetFailed` where uWSGI cannot even be started.
        """

    def launch(self, arm: ArmSpec) -> AbstractContextManager[RunningTarget]:
        """Start an arm; leaving the context removes its containers, whatever happened."""


class LoadGenerator(Protocol):
    """Drives load through a running target."""

    def wait_ready(self, running: RunningTarget, target: Target) -> None:
        """Wait for HTTP 200 with every uWSGI process accepting. Raises `TargetFailed`."""

    def check(self, running: RunningTarget, target: Target, workload: Workload) -> None:
        """Refuse what cannot be measured, before minutes are spent on it.

        Raises `TargetFailed` with `WORKLOAD_REFUSED`: keep-alive that the server does not keep, a
        journey that is not answered as expected, more connections than open files, a rate beyond
        what the generator itself can send.
        """

    def drive(
        self, running: RunningTarget, target: Target, load: Load, duration_s: float
    ) -> LoadReading:
        """Send load for that long; a burst lasts as long as it lasts.

        Raises `TargetFailed` or `Infrastructure`.
        """


def target_failed(code: FailureCode, message: str, log_tail: str = "") -> TargetFailed:
    """A `TargetFailed` with a code of the model; the arm is filled in by who knows it."""
    return TargetFailed(code.value, message, log_tail=log_tail)
