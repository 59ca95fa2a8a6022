"""A benchmark host without containers and without waiting, for tests of whole studies.

What a file is worth is planted: a function of its options. Windows differ by seeded noise, so one
seed gives the same figures again as long as every arm is started equally often.
"""

import math
import random
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.builders import FACTS, histogram
from tuner.bench.measurement import (
    Answer,
    ArmSpec,
    BuildInfo,
    Checked,
    Course,
    CourseStep,
    Disturbance,
    Disturbed,
    LoadReading,
    Placement,
    Usage,
    target_failed,
)
from tuner.nouns.errors import Infrastructure
from tuner.nouns.model import (
    SERIES_STEP_S,
    FailureCode,
    HostFingerprint,
    Limits,
    Load,
    OpenLoop,
    Target,
    Workload,
    connections,
)
from tuner.uwsgi.topology import Front, Stats, Topology

Options = dict[str, str]

KNOWN_OPTIONS = (
    *("processes", "workers", "threads", "listen", "thunder-lock", "disable-logging", "log-4xx"),
    *("log-5xx", "master", "http-socket", "wsgi-file", "module", "chdir", "vacuum", "need-app"),
    *("die-on-term", "enable-threads", "harakiri", "lazy-apps", "cheaper", "stats", "max-fd"),
    *("buffer-size", "offload-threads", "worker-reload-mercy", "socket", "uid", "gid", "strict"),
)
_ON_CHECK = (FailureCode.BAD_OPTIONS, FailureCode.APP_FAILED)
_ON_LAUNCH = (*_ON_CHECK, FailureCode.NOT_STARTED)
_ON_READY = (FailureCode.NOT_READY, FailureCode.ERRORS_ONLY)
_ON_DRIVE = (FailureCode.DIED, FailureCode.OUT_OF_MEMORY)


def options_of(ini: str) -> Options:
    """The effective options: the last of a key wins; a key alone is `true`."""
    lines = [line.strip() for line in ini.splitlines()]
    pairs = [line.partition("=") for line in lines if line and line[0] not in ";#["]
    return {key.strip(): value.strip() if equals else "true" for key, equals, value in pairs}


def number(options: Options, *names: str, default: int = 1) -> int:
    """The option's value as uWSGI would have it, whichever of its names is used."""
    return next((int(options[name]) for name in names if name in options), default)


def _constant_throughput(options: Options) -> float:
    return 1000.0


def _never_fails(options: Options) -> FailureCode | None:
    return None


def _none_is_late(options: Options) -> float:
    return 0.0


def _memory_by_processes(options: Options) -> float:
    return 10.0 + 12.0 * number(options, "processes", "workers")


@dataclass(slots=True)
class FakeWorld:
    """What is true of every configuration, and what has happened so far.

    `throughput` is in requests per second, by options and kernel settings; `memory_mb` in MB.
    `noise_sd` is the standard deviation of a window's log throughput, `start_sd` that of one start.
    With a `speed_sd`, the speed of the CPU is seen too, and targets fill their CPUs.
    """

    throughput: Callable[[Options], float] = _constant_throughput
    noise_sd: float = 0.03
    start_sd: float = 0.0
    speed_sd: float = 0.0  # of the log speed of the CPU from window to window
    fails: Callable[[Options], FailureCode | None] = _never_fails
    fails_from: int = 1  # connections with which a file fails that fails under load
    fails_at: str = ""  # the only path at which it fails; empty: at any
    memory_mb: Callable[[Options], float] = _memory_by_processes
    image_fails: FailureCode | None = None
    image: str = FACTS.image_digest  # what every target names now
    images: Mapping[str, str] = field(default_factory=dict)  # digests of further ones, by name
    absent: Collection[str] = ()  # images that nobody has
    seed: int = 1
    known_options: tuple[str, ...] = KNOWN_OPTIONS
    own_files: Mapping[str, str] = field(default_factory=dict)  # texts in the image, by path
    most_arms: int = 100  # that fit into its memory
    host_mb: int = 8000  # its memory, as it says
    late_in_scenes: Callable[[Options], float] = _none_is_late  # share of the requests
    hiccups: int = 0  # runs of load that fail by the generator's fault before one succeeds
    service_cores: Mapping[str, float] = field(default_factory=dict)  # of every arm, under load
    refusal: str | None = None  # what a service of every arm has logged
    errors_by_class: Mapping[str, int] = field(default_factory=dict)  # of every run of load
    lengths: Mapping[tuple[str, ...], int] = field(default_factory=dict)  # of answers, by command
    launches: list[ArmSpec] = field(default_factory=list)
    running: set[int] = field(default_factory=set)
    awake: set[int] = field(default_factory=set)  # arms whose services are not paused
    moves: list[tuple[str, int]] = field(default_factory=list)  # resumed and paused, by arm
    _killed: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def launcher(self) -> "FakeLauncher":
        """The world's containers."""
        return FakeLauncher(self)

    @property
    def load(self) -> "FakeLoad":
        """The world's load generator."""
        return FakeLoad(self)

    def digest_of(self, target: Target) -> str:
        """What the image of a target is now. Raises `TargetFailed`."""
        if target.image in self.absent:
            raise target_failed(FailureCode.IMAGE_MISSING, f"planted: no image {target.image}")
        return self.images.get(target.image or "", self.image)

    def start(self, arm: ArmSpec, moment: str | None = None) -> "FakeTarget":
        """A started arm; its noise depends on the arm and on `moment`.

        Without one, it depends on how often the arm was started.
        """
        with self._lock:
            twins = sum(s.ini == arm.ini and s.index == arm.index for s in self.launches)
            when = twins if moment is None else moment
            self.launches.append(arm)
            target = FakeTarget(
                world=self,
                number=len(self.launches),
                arm=arm,
                noise=random.Random(f"{self.seed} {arm.index} {when} {arm.ini}"),  # noqa: S311
            )
            self.running.add(target.number)
            self.awake.add(target.number)
        return target

    def stop(self, target: "FakeTarget") -> None:
        """Forget an arm that ran."""
        with self._lock:
            self.running.discard(target.number)
            self.awake.discard(target.number)

    def kill(self) -> int:
        """End all that runs, as `kill_measurement` and `reap` do."""
        with self._lock:
            doomed, self.running = self.running, set()
            self._killed |= doomed
        return len(doomed)

    def raise_if(self, arm: ArmSpec, codes: Sequence[FailureCode]) -> None:
        """Raise the planted failure of the arm's file, where it is one of `codes`."""
        code = self.fails(options_of(arm.ini))
        if code is not None and code in codes:
            raise target_failed(code, f"planted: {code.value}", "the log's last line")

    def hiccup(self) -> None:
        """Fail once more, where there are failures left."""
        with self._lock:
            if self.hiccups > 0:
                self.hiccups -= 1
                raise Infrastructure("planted: the load generator was killed")

    def check_services(self, target: "FakeTarget") -> None:
        """The services of this arm run, and those of no other."""
        assert self.awake & self.running == {target.number} & self.running

    def raise_if_killed(self, target: "FakeTarget") -> None:
        """What a real target's readers see once its container is gone."""
        if target.number in self._killed:
            raise Infrastructure("the target's container was removed while it was measured")


@dataclass(slots=True)
class FakeTarget:
    """An arm that runs: its counters only."""

    world: FakeWorld
    number: int
    arm: ArmSpec
    noise: random.Random
    placement: Placement = Placement(target="0", generator="1")  # noqa: RUF009  it is frozen
    nofile: int = 65_536
    client_nofile: int = 65_536
    cgroup_folders: Mapping[str, str] = field(default_factory=dict)
    front: Front = Front(topology=Topology.HTTP_SOCKET, port=8000)  # noqa: RUF009  it is frozen
    served: int = 0
    loaded_s: float = 0.0
    speed: float = 1.0
    start_factor: float = field(init=False)

    def __post_init__(self) -> None:
        self.start_factor = math.exp(self.noise.gauss(0, self.world.start_sd))

    def run_beside(self, argv: Sequence[str], **how: Any) -> str:
        """No command runs here."""
        raise Infrastructure(f"a fake target runs no commands: {argv[:1]}")

    def run_inside(self, argv: Sequence[str], *, timeout_s: float) -> bool:
        """No program is there."""
        return False

    def usage(self) -> Usage:
        """A target that uses most of its CPUs while it is loaded."""
        cpus = self.arm.limits.cpus
        return Usage(
            cpu_s=(1.0 if self.world.speed_sd else 0.9) * cpus * self.loaded_s,
            periods=round(10 * self.loaded_s),
            throttled_periods=0,
            memory_mb=self.world.memory_mb(options_of(self.arm.ini)),
            system_cpu_s=0.1 * cpus * self.loaded_s,
        )

    @contextmanager
    def cpu_speed(self) -> Iterator["FakeTarget"]:
        """The CPU has another speed in each window, if the world says so."""
        if self.world.speed_sd:
            self.speed = math.exp(self.noise.gauss(0, self.world.speed_sd))
        yield self

    def mean(self, since: float, until: float) -> float | None:
        """The speed of the CPU, if it is seen."""
        return 20 * self.speed if self.world.speed_sd else None

    def service_usage(self) -> Mapping[str, Usage]:
        """Services that use the planted CPUs while the target is loaded."""
        return {
            name: Usage(
                cpu_s=cores * self.loaded_s, periods=0, throttled_periods=0, memory_mb=100.0
            )
            for name, cores in self.world.service_cores.items()
        }

    def refusal(self) -> str | None:
        """The planted line."""
        return self.world.refusal

    def resume(self) -> None:
        """The services of this arm run."""
        self.world.moves.append(("resume", self.arm.index))
        self.world.awake.add(self.number)

    def rest(self) -> None:
        """They are paused."""
        self.world.moves.append(("rest", self.arm.index))
        self.world.awake.discard(self.number)

    def check_disk(self) -> Mapping[str, float]:
        """Raise the planted failure, if it is of the disk; services write 2 MB/s under load."""
        self.world.raise_if(self.arm, (FailureCode.OUT_OF_DISK,))
        return {name: 2.0 * self.loaded_s for name in self.world.service_cores}

    def effective_ini(self) -> str:
        """The file itself."""
        return self.arm.ini

    def log_tail(self) -> str:
        """One line."""
        return "the log's last line"

    def stats(self) -> Stats:
        """uWSGI's counters, as they stand."""
        options = options_of(self.arm.ini)
        processes = number(options, "processes", "workers")
        return Stats(
            cores=processes * number(options, "threads"),
            requests=self.served,
            respawns=0,
            running_us=round(0.8e6 * self.loaded_s * processes),
        )


@dataclass(frozen=True, slots=True)
class FakeLauncher:
    """`tuner.bench.measurement.Launcher` without containers."""

    world: FakeWorld
    moment: str | None = None

    def fingerprint(self) -> HostFingerprint:
        """One host."""
        return HostFingerprint(
            cpu_model="fake",
            cpus=2,
            memory_mb=self.world.host_mb,
            kernel="6.1",
            cgroup_version=2,
            docker_version="28.0",
        )

    def inspect(self, target: Target) -> BuildInfo:
        """One image, unless the world says that it is missing."""
        if self.world.image_fails is not None:
            raise target_failed(self.world.image_fails, "planted: no image")
        digest = self.world.digest_of(target)
        if not target.is_uwsgi:
            return BuildInfo(image_digest=digest, uwsgi_version="", options=())
        return BuildInfo(
            image_digest=digest, uwsgi_version="2.0.31", options=self.world.known_options
        )

    def own_file(self, target: Target) -> str:
        """The planted text."""
        found = self.world.own_files.get(f"{target.ini_path}")
        if found is None:
            words = f"{target.ini_path} in the image {target.name}: there is no such file"
            raise target_failed(FailureCode.PREPARE_FAILED, words)
        return found

    def check(self, arm: ArmSpec) -> Checked:
        """Raise the faults that uWSGI finds without serving."""
        self.world.raise_if(arm, _ON_CHECK)
        return Checked(somaxconn=arm.limits.somaxconn, effective_ini=arm.ini)

    def strict(self, arm: ArmSpec) -> str:
        """Refuse the first key that is neither a known option nor a placeholder."""
        options = options_of(arm.ini)
        unknown = [
            key for key in options if key not in (*self.world.known_options, "set-placeholder")
        ]
        return f"[strict-mode] unknown config directive: {unknown[0]}" if unknown else ""

    @contextmanager
    def launch(self, arm: ArmSpec) -> Iterator[FakeTarget]:
        """A running arm, until the context ends."""
        if arm.image_digest not in (None, known := self.world.digest_of(arm.target)):
            raise Infrastructure(f"the job measures {arm.image_digest}, not {known}")
        self.world.raise_if(arm, _ON_LAUNCH)
        target = self.world.start(arm, self.moment)
        try:
            yield target
        finally:
            self.world.stop(target)

    def for_measurement(self, job: str, measurement: str) -> "FakeLauncher":
        """There are no labels here."""
        return self

    def problem(self) -> str | None:
        """There is none."""
        return None

    def alone(self) -> AbstractContextManager[None]:
        """Nothing else measures."""
        return nullcontext()

    def check_alone(self) -> None:
        """Nothing else has measured."""

    def give_way(self) -> None:
        """There is no lock."""

    def check_room(self, arms: Sequence[ArmSpec]) -> None:
        """Refuse more arms than the world has room for."""
        if len(arms) > self.world.most_arms:
            raise target_failed(FailureCode.WORKLOAD_REFUSED, f"planted: {len(arms)} arms")

    def close(self) -> None:
        """Nothing to give back."""

    def reap(self, keep: Sequence[str] = ()) -> int:
        """End all that runs."""
        return self.world.kill()

    def end_jobs(self, keep: Collection[str]) -> None:
        """Jobs leave nothing behind here."""

    def kill_measurement(self, measurement: str) -> int:
        """End all that runs."""
        return self.world.kill()


@dataclass(frozen=True, slots=True)
class FakeLoad:
    """`tuner.bench.measurement.LoadGenerator` on `FakeTarget`s."""

    world: FakeWorld

    def wait_ready(self, running: object, target: Target) -> None:
        """Ready at once, or not at all."""
        fake = _fake(running)
        self.world.raise_if_killed(fake)
        self.world.raise_if(fake.arm, _ON_READY)

    def check(self, running: object, target: Target, workload: Workload) -> None:
        """Every workload can be carried, unless the world says otherwise."""
        self.world.check_services(_fake(running))
        self.world.raise_if(_fake(running).arm, (FailureCode.WORKLOAD_REFUSED,))

    def answers(self, running: object, target: Target, workload: Workload) -> Sequence[Answer]:
        """A body of one length, unless the world says otherwise of a command."""
        self.world.check_services(_fake(running))
        length = self.world.lengths.get(target.command, 20)
        return [Answer(answer=200, length=length) for _ in workload.requests]

    def as_served(self, running: object, target: Target, workload: Workload) -> Workload:
        return workload

    def round_trips(self, running: object, target: Target) -> Mapping[str, float]:
        """What the target asks for."""
        return target.delayed_ms

    def drive(self, running: object, target: Target, load: Load, duration_s: float) -> LoadReading:
        """A window of the planted throughput, give or take the noise."""
        fake = _fake(running)
        self.world.raise_if_killed(fake)
        self.world.check_services(fake)
        paths = {request.path for request in load.requests}
        if connections(load) >= self.world.fails_from and self.world.fails_at in {"", *paths}:
            self.world.raise_if(fake.arm, _ON_DRIVE)
        self.world.hiccup()
        if self.world.fails(options_of(fake.arm.ini)) is FailureCode.INFRASTRUCTURE:
            raise Infrastructure("planted: the host's fault")
        capacity = self._capacity(fake)
        rate = min(capacity, load.rate_rps) if isinstance(load, OpenLoop) else capacity
        is_uwsgi = fake.arm.target.is_uwsgi
        before, requests = fake.stats() if is_uwsgi else None, round(rate * duration_s)
        fake.served += requests
        fake.loaded_s += duration_s
        latency_ms = _latency_ms(load, capacity, rate)
        steps = round(duration_s / SERIES_STEP_S)
        return LoadReading(
            started_at=_EPOCH + timedelta(seconds=fake.loaded_s),
            duration_s=duration_s,
            wall_s=duration_s,
            sent=requests,
            requests=requests,
            errors_by_class=self.world.errors_by_class,
            latency_p50_ms=latency_ms,
            latency_p95_ms=1.3 * latency_ms,
            latency_p99_ms=1.6 * latency_ms,
            client_cpu_s=0.2 * duration_s,
            stalled=0,
            before=before,
            after=fake.stats() if is_uwsgi else None,
            connects=connections(load) if getattr(load, "keep_alive", False) else requests,
            listen_overflows=0,
            time_wait=requests,
            ports_exhausted=False,
            series=tuple(round(requests / steps) for _ in range(steps)),
            histogram=histogram([latency_ms]),
        )

    def course(
        self,
        running: object,
        target: Target,
        load: Load,
        duration_s: float,
        *,
        late_s: float,
    ) -> Course:
        """A steady course, with the planted share of late requests."""
        fake = _fake(running)
        self.world.raise_if_killed(fake)
        self.world.check_services(fake)
        sent = round(duration_s * (load.rate_rps if isinstance(load, OpenLoop) else 100.0))
        late = self.world.late_in_scenes(options_of(fake.arm.ini))
        steps = round(duration_s / SERIES_STEP_S)
        return Course(
            started_at=_EPOCH,
            sent=sent,
            failed=0,
            late=round(late * sent),
            unsent=0,
            longest_gap_s=late * duration_s,
            steps=tuple(CourseStep(answered=sent // steps, p95_ms=5.0) for _ in range(steps)),
        )

    def run_on(self, seconds: float) -> None:
        """No time passes here."""

    def disturb(self, running: object, kind: Disturbance, seconds: float) -> Disturbed:
        """It happens, and is over at once."""
        return Disturbed(began=_EPOCH + timedelta(seconds=1), slots_back_s=0.1)

    def _capacity(self, fake: FakeTarget) -> float:
        settings = {name: str(value) for name, value in fake.arm.limits.sysctls.items()}
        planted = self.world.throughput({**options_of(fake.arm.ini), **settings})
        noise = math.exp(fake.noise.gauss(0, self.world.noise_sd))
        return planted * fake.speed * fake.start_factor * noise


_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def _fake(running: object) -> FakeTarget:
    assert isinstance(running, FakeTarget)
    return running


def _latency_ms(load: Load, capacity_rps: float, rate_rps: float) -> float:
    """A closed loop waits its turn; an open one queues as the server nears its capacity."""
    if isinstance(load, OpenLoop):
        idle = max(0.01, 1 - rate_rps / capacity_rps)
        return 1000 / capacity_rps / idle
    return 1000 * connections(load) / capacity_rps


def arm(ini: str, target: Target, *, index: int = 0, limits: Limits | None = None) -> ArmSpec:
    """An arm, in one line."""
    return ArmSpec(index=index, ini=ini, target=target, limits=limits or Limits())
