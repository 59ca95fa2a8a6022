"""The steps of a measurement on a benchmark host."""

import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tuner.bench.measurement.alike import check_alike
from tuner.bench.measurement.driving import Driver, Stopwatch, arm_at_fault, services_running
from tuner.bench.measurement.futility import is_futile
from tuner.bench.measurement.host import ArmSpec, Launcher, LoadGenerator, RunningTarget
from tuner.nouns.errors import Aborted, Infrastructure, TargetFailed
from tuner.nouns.model import (
    AS_BUDGETED,
    BlockOptions,
    Budget,
    Load,
    MeasurementResult,
    Metric,
    Target,
    Window,
    Workload,
    at_rung,
    rungs,
    wants_kept,
    with_keep_alive,
)


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
        with self.aborting(), self.started(arms) as (running, ready_s):
            drivers = [
                self.driver(target, arm, workload, watch, metrics)
                for target, arm in zip(running, arms, strict=True)
            ]
            check_alike(self.load, list(zip(arms, running, strict=True)), workload)
            effective = tuple(target.effective_ini() for target in running)
            for driver in order.sample(drivers, len(drivers)):
                self.check_wanted()
                driver.measure_round_trips()
                driver.warm_up(budget.warmup_s)
            turns = [
                (driver, load, driver.enough_s(budget.window_s, block_options))
                for driver in drivers
                for load in driver.loads
            ]
            for number in range(planned):
                if futility and is_futile(cycles, futility, planned=planned):
                    break
                shuffled = order.sample(turns, len(turns))
                first = number * len(turns)
                cycles.append(self._cycle(shuffled, first))
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
        with self.aborting():
            return self.launcher.own_file(target)

    def driver(
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
    def started(
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

    def _cycle(self, turns: Sequence[tuple[Driver, Load, float]], first: int) -> list[Window]:
        """One window of every turn, in this order; `first` is the index of the first window."""
        windows = []
        for index, (driver, load, seconds) in enumerate(turns, first):
            self.check_wanted()
            try:
                window = driver.window(load, seconds, index)
            except Infrastructure:  # the load generator failed: one more try
                self.check_wanted()
                window = driver.window(load, seconds, index)
            windows.append(window)
        return windows

    def check_wanted(self) -> None:
        """Raise `Aborted` if nobody waits for the measurement any more."""
        if self.aborted():
            raise Aborted("the measurement was cancelled")

    @contextmanager
    def aborting(self) -> Iterator[None]:
        """An abort kills the containers, so their failures mean the abort."""
        try:
            yield
        except (TargetFailed, Infrastructure):
            self.check_wanted()
            raise
