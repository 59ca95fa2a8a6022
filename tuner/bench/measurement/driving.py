"""Load on one started arm, and the time that it takes."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tuner.bench.measurement.course import is_steady, lengthened, warming
from tuner.bench.measurement.host import ArmSpec, LoadGenerator, LoadReading, RunningTarget
from tuner.bench.measurement.judging import window_of
from tuner.bench.measurement.windows import Circumstances, service_figures
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import WARM_UPS_AT_MOST, BlockOptions, Load, Metric, Window


@dataclass(slots=True)
class Stopwatch:
    """Splits a measurement's wall time into set-up and load."""

    started: float = field(default_factory=time.monotonic)
    load_s: float = 0.0

    @contextmanager
    def loading(self) -> Iterator[None]:
        """What runs in this context is load."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.load_s += time.monotonic() - began

    @property
    def setup_s(self) -> float:
        """Seconds since the start without load."""
        return time.monotonic() - self.started - self.load_s


@contextmanager
def arm_at_fault(arm: ArmSpec) -> Iterator[None]:
    """A `TargetFailed` in this context names the arm."""
    try:
        yield
    except TargetFailed as failure:
        failure.arm = arm.index
        raise


@contextmanager
def services_running(running: RunningTarget) -> Iterator[None]:
    """The services of an arm run in this context only: those of two arms never compete.

    A failure in the context counts, not one of the pause that follows it.
    """
    running.resume()
    try:
        yield
    except BaseException:
        with suppress(TargetFailed, Infrastructure):
            running.rest()
        raise
    running.rest()


@dataclass(slots=True)
class Driver:
    """Sends load to one started arm, from its warm-up to its last window.

    `loads` are the rungs of the workload, as a client sends them to this server.
    """

    load: LoadGenerator
    running: RunningTarget
    arm: ArmSpec
    loads: Sequence[Load]
    metrics: frozenset[Metric]
    watch: Stopwatch
    warmup_s: float = 0.0
    is_steady: bool = True
    last_warm_up: LoadReading | None = None
    round_trips_ms: Mapping[str, float] = field(default_factory=dict)  # measured, by service

    def drive(self, load: Load, seconds: float) -> LoadReading:
        """One run of load. A `TargetFailed` names the arm."""
        with arm_at_fault(self.arm), services_running(self.running), self.watch.loading():
            return self.load.drive(self.running, self.arm.target, load, seconds)

    def measure_round_trips(self) -> None:
        """Measure the way to the services. They may rest: the kernel answers for them."""
        with arm_at_fault(self.arm):
            self.round_trips_ms = self.load.round_trips(self.running, self.arm.target)

    def warm_up(self, seconds: float) -> None:
        """Send load for `seconds` until throughput is steady, `WARM_UPS_AT_MOST` times at most."""
        if seconds <= 0:
            return
        for _ in range(WARM_UPS_AT_MOST):
            reading = self.drive(warming(self.loads[0]), seconds)
            self.warmup_s += reading.wall_s
            self.last_warm_up = reading
            self.is_steady = is_steady(reading.series, seconds)
            if self.is_steady:
                return

    def enough_s(self, window_s: float, block_options: BlockOptions) -> float:
        """Seconds of a window: `window_s`, or longer where the block asks for it."""
        warm_up = self.last_warm_up
        if warm_up is None or not block_options.lengthens:
            return window_s
        return lengthened(window_s, self.loads[0], warm_up.requests, warm_up.duration_s)

    def window(self, load: Load, seconds: float, index: int) -> Window:
        """One window with its doubts."""
        before, services_before = self.running.usage(), self.running.service_usage()
        with self.running.cpu_speed() as speeds:
            reading = self.drive(load, seconds)
        after, services_after = self.running.usage(), self.running.service_usage()
        with arm_at_fault(self.arm):
            written_mb = self.running.check_disk()
        # The head comes first, and does not count.
        counts_from = reading.started_at.timestamp() + max(0.0, seconds - reading.duration_s)
        under = Circumstances(
            arm=self.arm.index,
            load=load,
            planned_s=seconds,
            limits=self.arm.limits,
            placement=self.running.placement,
            metrics=self.metrics,
            steady=self.is_steady,
            services=service_figures(
                reading,
                services_before,
                services_after,
                services=self.arm.target.services,
                placement=self.running.placement,
                written_mb=written_mb,
                round_trips_ms=self.round_trips_ms,
            ),
            beside=self.arm.target.beside,
            # Logs are long: they are read only for the cause of an error.
            refusal=self.running.refusal() if reading.errors_by_class else None,
            cpu_speed=speeds.mean(counts_from, counts_from + reading.duration_s),
        )
        return window_of(reading, before, after, index=index, under=under)
