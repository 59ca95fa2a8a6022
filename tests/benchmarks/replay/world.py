"""Truth and noise to the results that a benchmark host would hand back, with its seconds.

A host starts all arms of a block afresh, warms each up, and alternates their windows in an order
shuffled in every cycle. What that takes is counted from the budget and from two figures seen on
real containers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from tests.benchmarks.replay.landscape import SPEED, Truth
from tests.benchmarks.replay.noise import Noise, Weather
from tests.benchmarks.replay.surface import FloatArray, Point
from tests.builders import NOON
from tuner.bench.measurement.bench import is_futile
from tuner.nouns.model import (
    BlockOptions,
    Budget,
    Failure,
    FailureCode,
    MeasurementResult,
    Params,
    ServerFigures,
    Window,
)

START_S = 0.45  # of one arm, container to ready; two start side by side in 0.9 s
BETWEEN_S = 0.2  # wall time of a window beyond its load
HEAD_S = 0.5  # of a window's load, before its figures count

_CLIENT_CPU = 0.2  # of the load generator's CPUs: far from saturated
_BUSY = 0.9  # share of the slots


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one measurement, and how many seconds the host was busy with it."""

    outcome: MeasurementResult | Failure
    seconds: float


class World:
    """One host on which one job is measured; it has a clock, drift and bursts of its own.

    `shapes` are the residuals that window noise is drawn from, as `noise.residuals` gives them.
    Deterministic in its arguments and in the order of what is asked of it.
    """

    def __init__(self, truth: Truth, shapes: FloatArray, noise: Noise, *, seed: int) -> None:
        self._truth = truth
        self._shapes = shapes
        self._noise = noise
        self._rng = np.random.default_rng(seed)
        self._weather = Weather(self._rng, is_bad=noise.is_bad_machine)
        self._cpus = truth.spec.limits.cpus
        self.now_s = 0.0

    def prepare(self) -> Reply:
        """The facts of the record."""
        return self._spent(MeasurementResult(facts=self._truth.facts), 2 * START_S)

    def block(self, arms: Sequence[Params], budget: Budget, block_options: BlockOptions) -> Reply:
        """Fresh starts of all arms and their windows; the first arm that fails ends it."""
        found = [self._truth.at(params) for params in arms]
        setup_s = START_S * len(arms)
        for arm, answer in enumerate(found):
            if isinstance(answer, FailureCode):
                message = f"recorded: {answer.value}"
                return self._spent(Failure(code=answer, message=message, arm=arm), setup_s)
        points = [answer for answer in found if isinstance(answer, Point)]
        self.now_s += setup_s + len(arms) * budget.warmup_s
        began_s = self.now_s
        cycles = self._cycles(points, budget, block_options)
        load_s = len(arms) * budget.warmup_s + self.now_s - began_s
        result = MeasurementResult(
            windows=tuple(window for cycle in cycles for window in cycle),
            setup_s=setup_s,
            load_s=load_s,
            is_cut_short=len(cycles) < (block_options.cycles or budget.cycles),
        )
        return Reply(result, setup_s + load_s)

    def _spent(self, outcome: MeasurementResult | Failure, seconds: float) -> Reply:
        self.now_s += seconds
        return Reply(outcome, seconds)

    def _cycles(
        self, points: Sequence[Point], budget: Budget, block_options: BlockOptions
    ) -> list[list[Window]]:
        """The windows of every cycle, until the futility rule ends the block."""
        planned = block_options.cycles or budget.cycles
        levels = self._levels(points, planned, budget)
        cycles: list[list[Window]] = []
        for number in range(planned):
            if block_options.futility and is_futile(
                cycles, block_options.futility, planned=planned
            ):
                break
            drift = self._weather.drift(self.now_s)
            windows = []
            for place, arm in enumerate(self._rng.permutation(len(points)).tolist()):
                ended_s = self.now_s + budget.window_s
                speed = drift + self._weather.bursts(self.now_s, ended_s)
                logs = levels[number, arm] + speed * SPEED
                index = number * len(points) + place
                windows.append(self._window(index, arm, logs, points[arm], budget))
                self.now_s = ended_s + BETWEEN_S
            cycles.append(windows)
        return cycles

    def _levels(self, points: Sequence[Point], cycles: int, budget: Budget) -> FloatArray:
        """Log levels by cycle, arm and column, the host's weather not among them."""
        count = len(points)
        starts = self._rng.normal(0.0, self._noise.start_sd, count)
        drawn = self._rng.integers(len(self._shapes), size=(cycles, count))
        noise = self._shapes[drawn] * self._noise.window_sd(budget.window_s)
        truths = np.vstack([point.logs for point in points])
        return np.asarray(truths + starts[:, None] * SPEED + noise, dtype=np.float64)

    def _window(
        self, index: int, arm: int, logs: FloatArray, point: Point, budget: Budget
    ) -> Window:
        rps, p50, p95, p99, memory, cpu = (_value(log) for log in logs.tolist())
        duration_s = max(budget.window_s - HEAD_S, 0.8 * budget.window_s)
        requests = round((rps or 0.0) * duration_s)
        share = min(point.errors, 0.999)
        errors = int(self._rng.poisson(requests * share / (1 - share))) if share > 0 else 0
        return Window(
            index=index,
            arm=arm,
            started_at=NOON + timedelta(seconds=self.now_s),
            duration_s=duration_s,
            requests=requests,
            errors=errors,
            errors_by_class={"recorded": errors} if errors else {},
            throughput_rps=rps or 0.0,
            latency_p50_ms=p50,
            latency_p95_ms=p95,
            latency_p99_ms=p99,
            memory_mb=memory,
            served=requests,
            respawns=0,
            client_cpu=_CLIENT_CPU,
            target_cpu=None if cpu is None else min(1.0, cpu / self._cpus),
            throttled=0.0,
            busy=_BUSY,
            listen_overflows=0,
            time_wait=0,
            sent=requests + errors,
            connections=0,
            stalled=0,
            server=ServerFigures(cores=cpu),
        )


def _value(log: float) -> float | None:
    """The value of a logarithm; None where it is NaN."""
    return None if math.isnan(log) else math.exp(log)
