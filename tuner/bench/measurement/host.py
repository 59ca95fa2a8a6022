"""What a measurement needs from a benchmark host: its containers, its load, its counters."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from tuner.bench.measurement.course import Course
from tuner.nouns.errors import TargetFailed
from tuner.nouns.masking import masked
from tuner.nouns.model import (
    ClientFigures,
    FailureCode,
    HostFingerprint,
    Limits,
    Load,
    Runs,
    Service,
    Target,
    Workload,
    cpus_in,
)
from tuner.uwsgi.topology import Front, Stats


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSpec:
    """Everything needed to start one arm. `ini` is the file that runs.

    It is the file to deploy without the options that trials leave out (`arms.arm_of`).
    `image_digest` is the image that the job has resolved; None: the one that the target names now.
    `data_sha256` is the hash of what the data of the app and its services are made of.
    `keep_alive` is whether its client keeps connections; None: as the workload says.
    """

    index: int
    ini: str
    target: Target
    limits: Limits
    image_digest: str | None = None
    data_sha256: str | None = None
    keep_alive: bool | None = None

    @property
    def ini_sha256(self) -> str:
        """The hash of the file that this arm runs."""
        return hashlib.sha256(self.ini.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildInfo:
    """The image of a target, and its uWSGI's version and options.

    `image_digest` names the image on every host: the registry's digest; the tag of a build, with
    the hash of its folder and base; the id of an image that no registry knows.
    """

    image_digest: str
    uwsgi_version: str
    options: tuple[str, ...]
    data_sha256: str | None = None  # of what an app's data are made of; None without data
    command: tuple[str, ...] = ()  # ENTRYPOINT and CMD of the image, if they start the target


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What uWSGI reports about a file that it loads without serving.

    `somaxconn` is net.core.somaxconn in the container, None if unknown. `effective_ini` holds the
    effective options, with those of the command and of included files.
    """

    somaxconn: int | None = None
    effective_ini: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The cgroup of the target or a service at one instant; all but `memory_mb` only grow."""

    cpu_s: float
    periods: int  # CFS periods in which the target wanted to run
    throttled_periods: int  # periods in which its quota ran out
    memory_mb: float  # working set: usage without inactive page cache
    system_cpu_s: float | None = None  # the kernel's part of cpu_s
    memory_peak_mb: float | None = None  # since the start, with page cache
    oom_kills: int = 0
    engine_cpu_s: float | None = None  # of the engine's own processes, which read the target's log


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReading:
    """CPU seconds and context switches of uWSGI's processes in one run, from their /proc."""

    busiest_cpu_s: float  # of the busiest worker process
    master_cpu_s: float
    router_cpu_s: float | None  # of the http router's busiest process; None without a router
    switches: int  # voluntary and forced, of all worker processes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one request: its status, or a few words where there was none."""

    answer: int | str
    length: int  # bytes of the body


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReading:
    """The accept queue that the load fills, sampled about twenty times a second."""

    p95: float  # connections in the queue
    max: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReading:
    """The whole host in one run, in CPU seconds; `own_s` is the harness's own part.

    `wall_s` is the time between the two samples, time-outs included.
    """

    cpus: int
    busy_s: float
    steal_s: float
    own_s: float  # load generator, probe and proxy
    wall_s: float
    pressure_s: float | None = None  # time in which a task waited for a CPU; None without PSI


@dataclass(frozen=True, kw_only=True)
class LoadReading(ClientFigures):
    """The figures of the load generator and of the network namespace for one run of load.

    `wall_s` runs from the first request to the last answer or time-out. Shares of CPU and of slots
    are shares of `wall_s`.
    """

    wall_s: float
    client_cpu_s: float
    before: Stats | None  # None for a server that is not uWSGI
    after: Stats | None
    ports_exhausted: bool
    connects: int | None = None  # connections that the client opened, as the kernel counted them
    processes: ProcessReading | None = None
    queue: QueueReading | None = None
    host: HostReading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The CPUs of an arm, as lists in the kernel's notation.

    `elsewhere` has those of the services that run elsewhere in production; None without such
    services. A service beside the app has the target's.
    """

    target: str
    generator: str
    elsewhere: str | None = None
    has_beside: bool = False

    @property
    def client_cpus(self) -> int:
        """How many CPUs the load generator may use."""
        return len(cpus_in(self.generator))

    @property
    def shares_cpus(self) -> bool:
        """Whether target and load generator share CPUs."""
        return not set(cpus_in(self.target)).isdisjoint(cpus_in(self.generator))

    @property
    def generator_has_services(self) -> bool:
        """Whether the load generator shares its CPUs with services."""
        return self.elsewhere == self.generator

    @property
    def only_cpu(self) -> int | None:
        """The target's, if it has one CPU, and neither load generator nor services run on it."""
        own = cpus_in(self.target)
        is_shared = self.shares_cpus or self.has_beside
        return own[0] if len(own) == 1 and not is_shared else None

    def of_service(self, service: Service) -> str:
        """The CPUs of a service."""
        return self.target if service.runs is Runs.BESIDE else self.elsewhere or self.generator


class Disturbance(StrEnum):
    """What can be made to go wrong with a running target."""

    HANG = "hang"  # a worker process stops for a time
    KILL = "kill"
    DOOM = "doom"  # the next that the kernel kills for want of memory is a worker process
    RELOAD = "reload"  # as SIGHUP to the master does it
    SLOW_CLIENTS = "slow_clients"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbed:
    """When a disturbance began, and how long uWSGI took to have all workers accept again."""

    began: datetime
    slots_back_s: float | None = None


class Speeds(Protocol):
    """How fast a CPU was over time."""

    def mean(self, since: float, until: float) -> float | None:
        """Steps per microsecond between two times (seconds since the epoch); None if unknown."""


class RunningTarget(Protocol):
    """A started target, with the load generator's container in its network namespace."""

    placement: Placement
    front: Front  # how the load reaches uWSGI: its socket, and what is in front of it
    nofile: int  # open files that the target may have
    client_nofile: int  # open files that the load generator may have

    @property
    def cgroup_folders(self) -> Mapping[str, str]:
        """Where the load generator's container sees cgroups: of `app` and services, by name."""

    def run_beside(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        files: Mapping[str, bytes] | None = None,
        uid: int | None = None,
    ) -> str:
        """Run a command in the load generator's container and return its standard output.

        `files`, by absolute path below /tmp, are there when it starts. With a `uid` it
        runs as that user, who may signal processes of his own. Raises `TargetFailed` if the target
        has ended, else `Infrastructure` if the command failed.
        """

    def run_inside(self, argv: Sequence[str], *, timeout_s: float) -> bool:
        """Run a command as root in the target's own container; whether it succeeded.

        The image may lack the program.
        """

    def usage(self) -> Usage:
        """Read the target's cgroup."""

    def cpu_speed(self) -> AbstractContextManager[Speeds]:
        """Sample the speed of the target's CPU as long as the context runs."""

    def service_usage(self) -> Mapping[str, Usage]:
        """Read the cgroup of each service beside the target, by name; empty without services."""

    def refusal(self) -> str | None:
        """A line of a log since the start by which a service refused connections (`refusal_in`)."""

    def resume(self) -> None:
        """Let the services run; nothing without services."""

    def rest(self) -> None:
        """Pause the services: they need no CPU until `resume`; nothing without services."""

    def check_disk(self) -> Mapping[str, float]:
        """What each service has written to disk since the arm's start, in MB, by name.

        Raises `TargetFailed` once the target or a service has written more than it may.
        """

    def effective_ini(self) -> str:
        """The effective options that uWSGI printed at its start; empty if it printed none."""

    def log_tail(self) -> str:
        """The last lines of the target's own output."""


class Launcher(Protocol):
    """Containers of this host."""

    def fingerprint(self) -> HostFingerprint:
        """This host's hardware and software."""

    def check_room(self, arms: Sequence[ArmSpec]) -> None:
        """Refuse arms that this host has no room for. Raises `TargetFailed`.

        Their memory must fit together, the open files of each alone.
        """

    def inspect(self, target: Target) -> BuildInfo:
        """Build or find the target's image. Raises `TargetFailed`."""

    def own_file(self, target: Target) -> str:
        """The text of the file at `ini_path` in the target's image. Raises `TargetFailed`."""

    def check(self, arm: ArmSpec) -> Checked:
        """Let uWSGI load the file and the app without serving. Raises `TargetFailed`."""

    def strict(self, arm: ArmSpec) -> str:
        """What `uwsgi --strict` refuses in the file, without loading the app; empty for nothing.

        Raises `TargetFailed` if uWSGI cannot start.
        """

    def launch(self, arm: ArmSpec) -> AbstractContextManager[RunningTarget]:
        """Start an arm; the end of the context always removes its containers."""


class LoadGenerator(Protocol):
    """Sends load to a running target."""

    def wait_ready(self, running: RunningTarget, target: Target) -> None:
        """Wait for HTTP 2xx with every uWSGI process accepting. Raises `TargetFailed`."""

    def check(self, running: RunningTarget, target: Target, workload: Workload) -> None:
        """Refuse a workload that cannot be measured, before it costs minutes.

        Raises `TargetFailed` with `WORKLOAD_REFUSED`: a journey gets an unexpected answer, there
        are more connections than open files, or the rate is too high for the generator itself.
        """

    def answers(
        self, running: RunningTarget, target: Target, workload: Workload
    ) -> Sequence[Answer]:
        """The answers to the first requests; none where users take values from them in order."""

    def as_served(self, running: RunningTarget, target: Target, workload: Workload) -> Workload:
        """The workload as its client sends it to this server.

        Where the server closes connections that the client wants to keep, the client opens a new
        one for each request. Raises `TargetFailed` with `WORKLOAD_REFUSED` for an answer without an
        end.
        """

    def round_trips(self, running: RunningTarget, target: Target) -> Mapping[str, float]:
        """Measured round trip times to the services, in ms by name; what is not there has none."""

    def drive(
        self, running: RunningTarget, target: Target, load: Load, duration_s: float
    ) -> LoadReading:
        """Send load for `duration_s`; a burst has its own length.

        Raises `TargetFailed` or `Infrastructure`.
        """

    def course(
        self,
        running: RunningTarget,
        target: Target,
        load: Load,
        duration_s: float,
        *,
        late_s: float,
    ) -> Course:
        """Send load while something goes wrong; an answer after `late_s` is late.

        Failed requests are figures here. Raises `TargetFailed` if the target has ended.
        """

    def run_on(self, seconds: float) -> None:
        """Wait while a course is under way."""

    def disturb(self, running: RunningTarget, kind: Disturbance, seconds: float) -> Disturbed:
        """Make one thing go wrong for `seconds`; a kill or a reload ends sooner if all is back.

        Raises `TargetFailed` if the target has ended, `Infrastructure` if no signal can be sent.
        """


def target_failed(code: FailureCode, message: str, log_tail: str = "") -> TargetFailed:
    """A `TargetFailed` with a code of the model; `bench` adds the arm. Apps log their secrets."""
    return TargetFailed(code.value, masked(message), log_tail=masked(log_tail))
