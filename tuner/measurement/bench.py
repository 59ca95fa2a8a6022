"""The steps of a measurement on a benchmark host."""

import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace

from tuner.errors import Aborted, Infrastructure, TargetFailed
from tuner.measurement.alike import check_alike
from tuner.measurement.driving import Driver, Stopwatch, arm_at_fault, services_running
from tuner.measurement.futility import is_futile
from tuner.measurement.host import ArmSpec, Launcher, LoadGenerator, RunningTarget
from tuner.measurement.preflight import seen, strict_copy
from tuner.measurement.steadiness import warming
from tuner.model import (
    AS_BUDGETED,
    BlockOptions,
    Budget,
    Load,
    MeasurementResult,
    MemoryLine,
    Metric,
    Preflight,
    Resolved,
    Target,
    TargetFacts,
    Window,
    Workload,
    at_rung,
    extended,
    rungs,
    wants_kept,
    with_keep_alive,
)
from tuner.uwsgi.ini import IniFile

MEMORY_PROBE_S = 0.6  # long enough for every process to serve a request
MEMORY_PROBE_MORE = 2  # processes on top of the baseline's, for the second point of the line


@dataclass(frozen=True, slots=True)
class Bench:
    """A benchmark host: its launcher, its load generator, and a way to abort."""

    launcher: Launcher
    load: LoadGenerator
    aborted: Callable[[], bool] = lambda: False

    def run_block(
        self,
        arms: Sequence[ArmSpec],
        workload: Workload,
        budget: Budget,
        *,
        seed: int,
        metrics: Collection[Metric] = (Metric.THROUGHPUT_RPS,),
        block_options: BlockOptions = AS_BUDGETED,
    ) -> MeasurementResult:
        """Fresh starts of all arms, warm-up, then windows in shuffled alternation.

        Each cycle has one window of every arm and rung. `metrics` are those of the study: each
        needs a number of requests. `block_options` may set the number of cycles, choose one rung,
        and end the block when arm 1 can no longer win. Raises `TargetFailed` (with the arm at
        fault), `Infrastructure`, or `Aborted`.
        """
        order = random.Random(seed)  # noqa: S311  a reproducible shuffle, not a secret
        watch = Stopwatch()
        planned = block_options.cycles or budget.cycles
        futility = block_options.futility
        workload = at_rung(workload, block_options.rung)
        cycles: list[list[Window]] = []
        self.launcher.check_room(arms)
        with self._aborting(), self._started(arms) as (running, ready_s):
            drivers = [
                self._driver(target, arm, workload, watch, metrics)
                for target, arm in zip(running, arms, strict=True)
            ]
            check_alike(self.load, list(zip(arms, running, strict=True)), workload)
            effective = tuple(target.effective_ini() for target in running)
            for driver in order.sample(drivers, len(drivers)):
                self._check_wanted()
                driver.warm_up(budget.warmup_s)
            turns = [(driver, load) for driver in drivers for load in driver.loads]
            for number in range(planned):
                if futility and is_futile(cycles, futility, planned=planned):
                    break
                shuffled = order.sample(turns, len(turns))
                first = number * len(turns)
                cycles.append(self._cycle(shuffled, budget.window_s, first))
        return MeasurementResult(
            windows=tuple(window for cycle in cycles for window in cycle),
            setup_s=watch.setup_s,
            load_s=watch.load_s,
            ready_s=ready_s,
            ini_sha256=tuple(arm.ini_sha256 for arm in arms),
            effective_ini=effective,
            warmup_s=tuple(driver.warmup_s for driver in drivers),
            is_cut_short=len(cycles) < planned,
            image_digest=arms[0].image_digest,
        )

    def own_file(self, target: Target) -> str:
        """The present file, out of the target's image. Raises `TargetFailed` or `Aborted`."""
        with self._aborting():
            return self.launcher.own_file(target)

    def prepare(
        self,
        baseline: ArmSpec,
        larger: ArmSpec | None,
        workload: Workload,
        *,
        processes: int,
        arms_at_once: int = 2,
        others: Sequence[Target] = (),
    ) -> MeasurementResult:
        """Build the image, let uWSGI check the baseline, start it, and measure its memory.

        The baseline has `processes`, and `larger` has `MEMORY_PROBE_MORE` more: two points of the
        memory line. Another server than uWSGI is started alone, without a check of its file.
        `others` are targets of further arms: their images are built or found too.
        Raises `TargetFailed` if the baseline itself does not work, or the largest block of the
        job, with `arms_at_once`, does not fit into the host's memory.
        """
        watch = Stopwatch()
        self.launcher.check_room([baseline] * arms_at_once)
        with self._aborting():
            build = self.launcher.inspect(baseline.target)
            arms = [
                replace(arm, image_digest=build.image_digest, data_sha256=build.data_sha256)
                for arm in (baseline, larger)
                if arm is not None
            ]
            preflight = self._preflight(arms[0], build.options) if larger else Preflight()
            self._check_wanted()
            looks = self._look_at_all(arms, workload, watch)
            images = self._resolved(others)
        facts = extended(
            TargetFacts,
            build,
            fingerprint=self.launcher.fingerprint(),
            memory=_memory_line(looks.memory_mb, processes, baseline.target),
            topology=looks.topology,
            effective_ini=looks.effective_ini,
            nofile=looks.nofile,
            preflight=preflight,
            images=images,
        )
        return MeasurementResult(
            facts=facts,
            setup_s=watch.setup_s,
            load_s=watch.load_s,
            ready_s=looks.ready_s,
            ini_sha256=(baseline.ini_sha256,),
            image_digest=build.image_digest,
        )

    def _resolved(self, targets: Sequence[Target]) -> Mapping[str, Resolved]:
        """By their names. If one cannot be had, the block of its arm says why."""
        found: dict[str, Resolved] = {}
        for target in targets:
            self._check_wanted()
            with suppress(TargetFailed):
                build = self.launcher.inspect(target)
                found[target.name] = Resolved(
                    image_digest=build.image_digest, data_sha256=build.data_sha256
                )
        return found

    def _preflight(self, baseline: ArmSpec, known: Collection[str]) -> Preflight:
        """What uWSGI reports about the baseline before it serves, also with --strict."""
        with arm_at_fault(baseline):
            checked = self.launcher.check(baseline)
            self._check_wanted()
            copy = strict_copy(IniFile.parse(baseline.ini), frozenset(known))
            refused = self.launcher.strict(replace(baseline, ini=copy))
            return seen(baseline, checked, refused)

    def _look_at_all(
        self, arms: Sequence[ArmSpec], workload: Workload, watch: Stopwatch
    ) -> "_Looks":
        """Without the larger one if that does not work."""
        baseline, *_ = arms
        try:
            return self._look(arms, workload, watch)
        except TargetFailed as failure:
            if failure.arm == baseline.index:
                raise
            return self._look([baseline], workload, watch)

    def _look(self, arms: Sequence[ArmSpec], workload: Workload, watch: Stopwatch) -> "_Looks":
        """Looks at arms that run under a little load; the first is the baseline.

        Checks the workload too.
        """
        used = []
        with self._started(arms) as (running, ready_s):
            first = running[0]
            with arm_at_fault(arms[0]), services_running(first):
                self.load.check(first, arms[0].target, workload)
            for arm, target in zip(arms, running, strict=True):
                self._check_wanted()
                driver = self._driver(target, arm, workload, watch)
                driver.drive(warming(driver.loads[0]), MEMORY_PROBE_S)
                used.append(target.usage().memory_mb)
            topology = first.front.topology.value
            return _Looks(used, ready_s, topology, first.effective_ini(), first.nofile)

    def _driver(
        self,
        running: RunningTarget,
        arm: ArmSpec,
        workload: Workload,
        watch: Stopwatch,
        metrics: Collection[Metric] = (),
    ) -> Driver:
        """The driver of a started arm, with the loads as a client sends them to it."""
        workload = with_keep_alive(workload, arm.keep_alive)
        if wants_kept(workload):
            with arm_at_fault(arm), services_running(running):
                workload = self.load.as_served(running, arm.target, workload)
        loads = tuple(rungs(workload).values())
        return Driver(self.load, running, arm, loads, frozenset(metrics), watch)

    @contextmanager
    def _started(
        self, arms: Sequence[ArmSpec]
    ) -> Iterator[tuple[list[RunningTarget], tuple[float, ...]]]:
        """Start all arms in parallel; yields them ready, with their seconds to ready.

        Their services rest until an arm is driven.
        """

        def start(arm: ArmSpec) -> tuple[RunningTarget, float]:
            began = time.monotonic()
            with arm_at_fault(arm):
                context = self.launcher.launch(arm)
                running = context.__enter__()
                stack.push(context)
                self.load.wait_ready(running, arm.target)
            return running, time.monotonic() - began

        with ExitStack() as stack, ThreadPoolExecutor(max_workers=max(1, len(arms))) as pool:
            futures = [pool.submit(start, arm) for arm in arms]
            started = [future.result() for future in futures]
            for arm, (running, _) in zip(arms, started, strict=True):
                with arm_at_fault(arm):
                    running.rest()
            yield [running for running, _ in started], tuple(seconds for _, seconds in started)

    def _cycle(
        self, turns: Sequence[tuple[Driver, Load]], seconds: float, first: int
    ) -> list[Window]:
        """One window of every turn, in this order; `first` is the index of the first window."""
        windows = []
        for index, (driver, load) in enumerate(turns, first):
            self._check_wanted()
            try:
                window = driver.window(load, seconds, index)
            except Infrastructure:  # the load generator failed: one more try
                self._check_wanted()
                window = driver.window(load, seconds, index)
            windows.append(window)
        return windows

    def _check_wanted(self) -> None:
        if self.aborted():
            raise Aborted("the measurement was cancelled")

    @contextmanager
    def _aborting(self) -> Iterator[None]:
        """An abort kills the containers, so their failures mean the abort."""
        try:
            yield
        except (TargetFailed, Infrastructure):
            self._check_wanted()
            raise


@dataclass(frozen=True, slots=True)
class _Looks:
    """What `prepare` reads from started arms: the memory of each, and more of the first."""

    memory_mb: Sequence[float]
    ready_s: tuple[float, ...]
    topology: str
    effective_ini: str
    nofile: int


def _memory_line(used: Sequence[float], processes: int, target: Target) -> MemoryLine:
    """The line through both points; with one point, the slope that the target gives.

    Another server than uWSGI is one point: its processes are its own affair.
    """
    if not target.is_uwsgi:
        return MemoryLine(base_mb=used[0], per_process_mb=0.0)
    slope = float(target.memory_per_process_mb)
    if len(used) > 1:
        slope = max(0.5, (used[1] - used[0]) / MEMORY_PROBE_MORE)
    return MemoryLine(base_mb=max(0.0, used[0] - processes * slope), per_process_mb=slope)
