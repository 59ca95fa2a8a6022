"""The steps of a measurement on a benchmark host."""

import math
import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from statistics import fmean

from tuner.bench.measurement.driving import Driver, Stopwatch, arm_at_fault, services_running
from tuner.bench.measurement.host import (
    Answer,
    ArmSpec,
    Launcher,
    LoadGenerator,
    RunningTarget,
    target_failed,
)
from tuner.judge import objective
from tuner.nouns.errors import Aborted, Infrastructure, TargetFailed
from tuner.nouns.model import (
    AS_BUDGETED,
    BlockOptions,
    Budget,
    Capacity,
    FailureCode,
    Futility,
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

# ---- Whether the servers of a block answer alike: an error page is faster than the app


def check_alike(
    load: LoadGenerator, started: Sequence[tuple[ArmSpec, RunningTarget]], workload: Workload
) -> None:
    """Compare the answers of other servers with those of the first arm.

    Raises `TargetFailed`, which names the arm, where status or length of a body differ. A length
    that differs between two answers of the first arm itself does not count.
    """
    (first, its), *others = started
    others = [each for each in others if each[0].target != first.target]
    if not others:
        return
    wanted, again = (_answers(load, first, its, workload) for _ in range(2))
    for arm, running in others:
        found = _answers(load, arm, running, workload)
        for request, own, want, other in zip(workload.requests, found, wanted, again, strict=False):
            is_fixed = want.length == other.length
            if own.answer != want.answer or (is_fixed and own.length != want.length):
                message = (
                    f"it answers {request.method} {request.path} with {_said(own)}, and the first"
                    f" arm with {_said(want)}: they do not serve the same"
                )
                with arm_at_fault(arm):
                    raise target_failed(FailureCode.WORKLOAD_REFUSED, message, running.log_tail())


def _answers(
    load: LoadGenerator, arm: ArmSpec, running: RunningTarget, workload: Workload
) -> Sequence[Answer]:
    with arm_at_fault(arm), services_running(running):
        return load.answers(running, arm.target, workload)


def _said(found: Answer) -> str:
    if isinstance(found.answer, str):
        return found.answer
    return f"{found.answer} and {found.length} bytes"


# ---- When to stop a block whose candidate can no longer win
#
#     best - mean of j cycles  >  2 sd √(1/j + 1/n)
#
# `sd` is that of the log ratio of one cycle. A whole block has n cycles, and the best candidate so
# far has at least one block. So a poor configuration costs two cycles, and one near the best gets
# its whole block.

DEVIATIONS = 2.0
"""In simulation this saves 30 % of the windows near the best configuration and 60 % far from it.
The best configuration found is as good as without it."""

FEWEST_CYCLES = 2
"""A short disturbance may hit one cycle."""


def is_futile(cycles: Sequence[Sequence[Window]], futility: Futility, *, planned: int) -> bool:
    """Whether arm 1 of a block of (baseline, candidate) is too far behind to go on.

    `cycles` are the windows of each cycle so far; a whole block has `planned` cycles.
    """
    ratios = [ratio for cycle in cycles if (ratio := _ratio(cycle, futility.metric)) is not None]
    if len(ratios) < FEWEST_CYCLES:
        return False
    behind = futility.best - futility.metric.sign * fmean(ratios)
    return behind > DEVIATIONS * futility.sd * math.sqrt(1 / len(ratios) + 1 / planned)


def _ratio(cycle: Sequence[Window], metric: Metric) -> float | None:
    """log(candidate / baseline) in one cycle; None if a window of either arm is void.

    On a ladder the mean of the logs compares rung with rung only if no rung is missing.
    """
    if any(window.is_void for window in cycle):
        return None
    windows = objective.at_equal_speed(cycle)
    theirs, ours = (objective.of_arm(windows, arm) for arm in (0, 1))
    return objective.difference(ours, theirs, metric)


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

        Each cycle has one window of every arm and rung; for a capacity there are probes of every
        arm instead. `metrics` are those of the study: each needs a number of requests.
        `block_options` may set the number of cycles, choose one rung, and end the block when arm 1
        can no longer win. Raises `TargetFailed` (with the arm at
        fault), `Infrastructure`, or `Aborted`.
        """
        order = random.Random(seed)  # noqa: S311  a reproducible shuffle, not a secret
        watch = Stopwatch()
        workload = at_rung(workload, block_options.rung)
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
            if isinstance(workload, Capacity):
                # Here, because it needs numpy, which is slow to import.
                from tuner.bench.measurement import probes

                windows = probes.windows_of(drivers, workload, order, self._cycle)
                is_cut_short = False
            else:
                windows, is_cut_short = self._cycles(drivers, budget, block_options, order)
        return replace(
            measured(arms, drivers, watch, ready_s, effective),
            windows=windows,
            is_cut_short=is_cut_short,
        )

    def _cycles(
        self, drivers: Sequence[Driver], budget: Budget, options: BlockOptions, order: random.Random
    ) -> tuple[tuple[Window, ...], bool]:
        """The windows of all cycles, and whether arm 1 could no longer win before the last."""
        planned = options.cycles or budget.cycles
        turns = [
            (driver, load, driver.enough_s(budget.window_s, options))
            for driver in drivers
            for load in driver.loads
        ]
        cycles: list[list[Window]] = []
        for number in range(planned):
            if options.futility and is_futile(cycles, options.futility, planned=planned):
                break
            shuffled = order.sample(turns, len(turns))
            cycles.append(self._cycle(shuffled, number * len(turns)))
        return tuple(window for cycle in cycles for window in cycle), len(cycles) < planned

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


def measured(
    arms: Sequence[ArmSpec],
    drivers: Sequence[Driver],
    watch: Stopwatch,
    ready_s: Sequence[float],
    effective_ini: Sequence[str],
) -> MeasurementResult:
    """What is known of every measurement in which all arms were started and driven."""
    return MeasurementResult(
        setup_s=watch.setup_s,
        load_s=watch.load_s,
        ready_s=tuple(ready_s),
        ini_sha256=tuple(arm.ini_sha256 for arm in arms),
        effective_ini=tuple(effective_ini),
        warmup_s=tuple(driver.warmup_s for driver in drivers),
        image_digest=arms[0].image_digest,
    )
