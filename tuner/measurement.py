"""One measurement on a benchmark host: start every side, warm up, alternate windows, always stop.

The sides of a block run at the same time but are loaded one after the other, in an order shuffled
anew for every cycle, so that a drift of the host meets all of them alike.
"""

import hashlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from tuner.errors import Aborted, Infrastructure, TargetFailed
from tuner.model import (
    Budget,
    Doubt,
    FailureCode,
    HostFingerprint,
    Limits,
    MeasurementResult,
    MemoryLine,
    Target,
    TargetFacts,
    Window,
    Workload,
)
from tuner.uwsgi.stats import Stats

CLIENT_SATURATED_ABOVE = 0.8  # share of the load generator's CPUs
COUNTERS_MAY_DIFFER_BY = 0.001  # of the requests; plus one request in flight per connection
MEMORY_PROBE_S = 0.6  # long enough for every process to have served something
MEMORY_PROBE_MORE = 2  # processes more than the baseline has, for the second point of the line


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


@dataclass(slots=True)
class _Stopwatch:
    """Splits a measurement's wall time into setting up and loading."""

    started: float = field(default_factory=time.monotonic)
    load_s: float = 0.0

    @contextmanager
    def loading(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.load_s += time.monotonic() - began

    @property
    def setup_s(self) -> float:
        return time.monotonic() - self.started - self.load_s


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark host's hands: its launcher, its load generator, and a way to be called off."""

    launcher: Launcher
    load: LoadGenerator
    aborted: Callable[[], bool] = lambda: False

    def run_block(
        self, sides: Sequence[SideSpec], workload: Workload, budget: Budget, *, seed: int
    ) -> MeasurementResult:
        """Fresh starts of all sides, warm-up, then windows in shuffled alternation.

        Raises `TargetFailed` (with the side at fault), `Infrastructure`, or `Aborted`.
        """
        order = random.Random(seed)  # noqa: S311  a reproducible shuffle, not a secret
        watch = _Stopwatch()
        windows: list[Window] = []
        with self._calling_off(), self._started(sides) as (running, ready_s):
            for index in order.sample(range(len(sides)), len(sides)):
                self._warm_up(running[index], sides[index], workload, budget.warmup_s, watch)
            for _ in range(budget.cycles):
                for index in order.sample(range(len(sides)), len(sides)):
                    self._check_wanted()
                    with watch.loading():
                        window = self._window(
                            running[index], sides[index], workload, budget.window_s, len(windows)
                        )
                    windows.append(window)
        return MeasurementResult(
            windows=tuple(windows),
            setup_s=watch.setup_s,
            load_s=watch.load_s,
            ready_s=ready_s,
            ini_sha256=tuple(side.ini_sha256 for side in sides),
        )

    def prepare(
        self, baseline: SideSpec, larger: SideSpec, workload: Workload, *, processes: int
    ) -> MeasurementResult:
        """Build the image, let uWSGI check the baseline, start it, and look at its memory.

        `larger` is the baseline with `MEMORY_PROBE_MORE` processes more than the `processes` that
        it runs: two points of the line of memory. Raises `TargetFailed` where the baseline itself
        does not work.
        """
        watch = _Stopwatch()
        with self._calling_off():
            build = self.launcher.inspect(baseline.target)
            self.launcher.check(baseline)
            self._check_wanted()
            used, ready_s = self._memory_under_load(baseline, larger, workload, watch)
        facts = TargetFacts(
            image_digest=build.image_digest,
            uwsgi_version=build.uwsgi_version,
            options=build.options,
            fingerprint=self.launcher.fingerprint(),
            memory=_memory_line(used, processes, baseline.target),
        )
        return MeasurementResult(
            facts=facts,
            setup_s=watch.setup_s,
            load_s=watch.load_s,
            ready_s=ready_s,
            ini_sha256=(baseline.ini_sha256,),
        )

    def _memory_under_load(
        self, baseline: SideSpec, larger: SideSpec, workload: Workload, watch: _Stopwatch
    ) -> tuple[list[float], tuple[float, ...]]:
        """Working sets in MB after a little load, and seconds to ready; of what runs at all."""

        def probe(sides: Sequence[SideSpec]) -> tuple[list[float], tuple[float, ...]]:
            used = []
            with self._started(sides) as (running, ready_s):
                for side, target in zip(sides, running, strict=True):
                    self._warm_up(target, side, workload, MEMORY_PROBE_S, watch)
                    used.append(target.usage().memory_mb)
            return used, ready_s

        try:
            return probe([baseline, larger])
        except TargetFailed as failure:
            if failure.side == baseline.index:
                raise
            return probe([baseline])

    @contextmanager
    def _started(
        self, sides: Sequence[SideSpec]
    ) -> Iterator[tuple[list[RunningTarget], tuple[float, ...]]]:
        """All sides ready, started side by side; yields them with their seconds to ready."""

        def start(side: SideSpec) -> tuple[RunningTarget, float]:
            began = time.monotonic()
            with _side_at_fault(side):
                context = self.launcher.launch(side)
                running = context.__enter__()
                stack.push(context)
                self.load.wait_ready(running, side.target)
            return running, time.monotonic() - began

        with ExitStack() as stack, ThreadPoolExecutor(max_workers=max(1, len(sides))) as pool:
            futures = [pool.submit(start, side) for side in sides]
            started = [future.result() for future in futures]
            yield [running for running, _ in started], tuple(seconds for _, seconds in started)

    def _warm_up(
        self,
        running: RunningTarget,
        side: SideSpec,
        workload: Workload,
        seconds: float,
        watch: _Stopwatch,
    ) -> None:
        self._check_wanted()
        if seconds > 0:
            with watch.loading(), _side_at_fault(side):
                self.load.drive(running, side.target, workload, seconds)

    def _window(
        self,
        running: RunningTarget,
        side: SideSpec,
        workload: Workload,
        seconds: float,
        index: int,
    ) -> Window:
        with _side_at_fault(side):
            before = running.usage()
            reading = self.load.drive(running, side.target, workload, seconds)
            after = running.usage()
        return window_of(
            reading,
            before,
            after,
            index=index,
            side=side,
            concurrency=workload.concurrency,
            client_cpus=running.client_cpus,
            shares_cpus=running.shares_cpus,
        )

    def _check_wanted(self) -> None:
        if self.aborted():
            raise Aborted("the measurement was called off")

    @contextmanager
    def _calling_off(self) -> Iterator[None]:
        """Calling off kills the containers, which then looks like a failure of theirs."""
        try:
            yield
        except (TargetFailed, Infrastructure) as failure:
            if self.aborted():
                raise Aborted("the measurement was called off") from failure
            raise


@contextmanager
def _side_at_fault(side: SideSpec) -> Iterator[None]:
    try:
        yield
    except TargetFailed as failure:
        failure.side = side.index
        raise


def window_of(
    reading: LoadReading,
    before: Usage,
    after: Usage,
    *,
    index: int,
    side: SideSpec,
    concurrency: int,
    client_cpus: int,
    shares_cpus: bool,
) -> Window:
    """Bring the client's figures, uWSGI's and the kernel's together, with what to doubt in them."""
    seconds = reading.duration_s
    periods = after.periods - before.periods
    errors = sum(reading.errors_by_class.values())
    served, respawns, busy = _server_side(reading)
    client_cpu = reading.client_cpu_s / (seconds * client_cpus) if seconds else 0.0
    doubts = {
        Doubt.CLIENT_SATURATED: client_cpu > CLIENT_SATURATED_ABOVE,
        Doubt.ERRORS: errors > 0,
        Doubt.COUNTER_MISMATCH: served is not None
        and not counters_agree(served, reading.requests + errors, errors + concurrency),
        Doubt.PORTS_EXHAUSTED: reading.ports_exhausted,
        Doubt.SHARED_CPUS: shares_cpus,
        Doubt.DISTURBED: respawns > 0,
    }
    return Window(
        index=index,
        side=side.index,
        started_at=reading.started_at,
        duration_s=seconds,
        requests=reading.requests,
        errors=errors,
        errors_by_class=dict(reading.errors_by_class),
        throughput_rps=reading.requests / seconds if seconds else 0.0,
        latency_p50_ms=reading.latency_p50_ms,
        latency_p95_ms=reading.latency_p95_ms,
        latency_p99_ms=reading.latency_p99_ms,
        memory_mb=after.memory_mb,
        served=served,
        respawns=respawns,
        client_cpu=client_cpu,
        target_cpu=(after.cpu_s - before.cpu_s) / (seconds * side.limits.cpus) if seconds else None,
        throttled=(after.throttled_periods - before.throttled_periods) / periods
        if periods
        else None,
        busy=busy,
        listen_overflows=reading.listen_overflows,
        time_wait=reading.time_wait,
        doubts=tuple(doubt for doubt, holds in doubts.items() if holds),
    )


def counters_agree(served: int, sent: int, in_doubt: int) -> bool:
    """Whether uWSGI's count fits the client's, give or take `in_doubt` requests.

    In doubt are requests that failed (they may or may not have reached the app) and one per
    connection that was in flight when the clock stopped.
    """
    return abs(served - sent) <= in_doubt + COUNTERS_MAY_DIFFER_BY * sent


def _server_side(reading: LoadReading) -> tuple[int | None, int, float | None]:
    """uWSGI's own view: requests served, processes replaced, share of slots busy."""
    before, after = reading.before, reading.after
    if before is None or after is None:
        return None, 0, None
    slots_us = reading.duration_s * 1e6 * after.cores
    busy = (after.running_us - before.running_us) / slots_us if slots_us else None
    return after.requests - before.requests, max(0, after.respawns - before.respawns), busy


def _memory_line(used: Sequence[float], processes: int, target: Target) -> MemoryLine:
    """The line through both points; the target's own hint where the larger one did not run."""
    slope = float(target.memory_per_process_mb)
    if len(used) > 1:
        slope = max(0.5, (used[1] - used[0]) / MEMORY_PROBE_MORE)
    return MemoryLine(base_mb=max(0.0, used[0] - processes * slope), per_process_mb=slope)


def target_failed(code: FailureCode, message: str, log_tail: str = "") -> TargetFailed:
    """A `TargetFailed` with a code of the model; the side is filled in by who knows it."""
    return TargetFailed(code.value, message, log_tail=log_tail)
