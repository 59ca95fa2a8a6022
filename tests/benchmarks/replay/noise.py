"""What one window says beside the truth.

The **level** is the standard deviation of the log ratio of one block of the `standard` budget
(4 cycles of 2.5 s of each arm, fresh starts): what `tuner calibrate` prints. It is made of

    level² = 2 (start² + window² / 4)

with 1.5 % from one start to another, or half of the level where that is less; the windows have the
rest. Blocks of fewer or shorter windows
are noisier: a window's variance falls with its length. The shape of a window's noise is that of
the record: its own residuals are drawn, all metrics of one window together, so that tails and the
link of throughput and latency are real. A host's drift and its bursts meet both arms and come on
top: drift cancels within a cycle, bursts do not, so on a bad machine blocks are noisier than the
level says.
"""

import math
from dataclasses import dataclass

import numpy as np

from tests.benchmarks.replay.records import Landscape
from tests.benchmarks.replay.surface import COLUMNS, FloatArray, logs_of
from tuner.nouns.model import PRESETS

STANDARD = PRESETS["standard"]
START_SD = 0.015  # log ratio of one start to the next, at most

DRIFT_LIMIT = 0.15  # log ratio: the walk is reflected there
DRIFT_SD = 0.0045  # log ratio, of the walk after one second: 1 % in 5 s

BURST_DEPTH = -0.3  # of the throughput, while a burst lasts
BURST_S = 20.0  # mean length
BURST_SHARE = 0.2  # of the time


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How noisy the host is: the level, and whether bursts of other work come on top."""

    level: float
    is_bad_machine: bool = False

    @property
    def start_sd(self) -> float:
        """Standard deviation of the log throughput from one start to the next."""
        return min(START_SD, self.level / 2)

    def window_sd(self, window_s: float) -> float:
        """Standard deviation of the log throughput of a window of that length, within a start."""
        standard = STANDARD.cycles * (self.level**2 / 2 - self.start_sd**2)
        return math.sqrt(standard * STANDARD.window_s / window_s)


def residuals(landscape: Landscape) -> FloatArray:
    """The record's own window noise, one row a window with the columns of `COLUMNS`.

    Deviations of log values from the mean of their own start, in units of the standard deviation
    of the throughput's. Raises `ValueError` where no start has two windows.
    """
    rows: list[FloatArray] = []
    for start in landscape.starts:
        count = len(start.readings)
        if count > 1:
            logs = np.vstack([logs_of(reading) for reading in start.readings])
            # a mean of few windows follows each of them: the deviations come out too small
            rows.append((logs - logs.mean(axis=0)) * math.sqrt(count / (count - 1)))
    if not rows:
        raise ValueError("no start of the record has two windows")
    found = np.nan_to_num(np.vstack(rows))
    scale = float(np.sqrt(np.mean(found[:, COLUMNS.index("rps")] ** 2)))
    if scale == 0:
        raise ValueError("the windows of the record do not differ: there is no noise to draw from")
    return np.asarray(found / scale, dtype=np.float64)


class Weather:
    """What a host does to everyone on it, as log factors of speed; time only goes on."""

    def __init__(self, rng: np.random.Generator, *, is_bad: bool) -> None:
        self._rng = rng
        self._is_bad = is_bad
        self._drift = float(rng.uniform(-DRIFT_LIMIT, DRIFT_LIMIT))
        self._drifted_s = 0.0
        self._burst = self._next_burst(0.0) if is_bad else (0.0, 0.0)

    def drift(self, now_s: float) -> float:
        """Where the walk is by now. Times are asked for in their order."""
        elapsed_s, self._drifted_s = now_s - self._drifted_s, now_s
        moved = self._drift + float(self._rng.normal(0.0, DRIFT_SD * math.sqrt(elapsed_s)))
        if abs(moved) > DRIFT_LIMIT:
            moved = math.copysign(2 * DRIFT_LIMIT, moved) - moved
        self._drift = moved
        return moved

    def bursts(self, began_s: float, ended_s: float) -> float:
        """What the bursts in this stretch take away. Stretches are asked for in order of time."""
        if not self._is_bad:
            return 0.0
        while self._burst[1] <= began_s:
            self._burst = self._next_burst(self._burst[1])
        hit, burst = 0.0, self._burst
        while burst[0] < ended_s:
            hit += min(ended_s, burst[1]) - max(began_s, burst[0])
            if burst[1] >= ended_s:
                break
            self._burst = burst = self._next_burst(burst[1])
        return math.log1p(BURST_DEPTH * hit / (ended_s - began_s))

    def _next_burst(self, after_s: float) -> tuple[float, float]:
        quiet_s = BURST_S * (1 - BURST_SHARE) / BURST_SHARE
        begins = after_s + float(self._rng.exponential(quiet_s))
        return begins, begins + float(self._rng.exponential(BURST_S))
