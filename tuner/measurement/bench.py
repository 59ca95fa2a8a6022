"""The course of a measurement on a benchmark host, whatever happens on the way."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tuner.errors import Aborted, Infrastructure, TargetFailed
from tuner.measurement.host import Launcher, LoadGenerator, RunningTarget, SideSpec
from tuner.measurement.judging import window_of
from tuner.model import (
    Budget,
    MeasurementResult,
    MemoryLine,
    Target,
    TargetFacts,
    Window,
    Workload,
)

MEMORY_PROBE_S = 0.6  # long enough for every process to have served something
MEMORY_PROBE_MORE = 2  # processes more than the baseline has, for the second point of the line


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


def _memory_line(used: Sequence[float], processes: int, target: Target) -> MemoryLine:
    """The line through both points; the target's own hint where the larger one did not run."""
    slope = float(target.memory_per_process_mb)
    if len(used) > 1:
        slope = max(0.5, (used[1] - used[0]) / MEMORY_PROBE_MORE)
    return MemoryLine(base_mb=max(0.0, used[0] - processes * slope), per_process_mb=slope)
