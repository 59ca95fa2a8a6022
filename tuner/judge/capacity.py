"""The capacity of one file: noisy probes of an open loop → the highest rate within a limit, pure.

A **probe** is one window of Poisson arrivals at one rate. First short ones rise from a rate far
below, until one is late. Then `PROBES` long ones lie around the best guess so far, each guess from
all long probes before.

Around the capacity C, log(latency / limit) = b (log rate - log C) + noise. Slope b, noise and C are
unknown: a posterior on a grid has them all, with flat priors on their logs. A probe far from the
limit, or with too many errors, says only on which side it is (a Tobit model): there the line is a
curve. The interval holds 95 % of the posterior of C, and is wider by `WIDER`. `make bench-capacity`
shows bias and coverage.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from tuner.nouns.model import SERIES_STEP_S, CapacityLimit, Window

PROBES = 6
LIMITS_LONG = 150  # of a probe: in fewer, the queue that begins empty makes the capacity too large
FEWEST_DUE = 2000  # requests of a long probe, for 100 beyond p95
LONGEST_S = 120.0
SHORT = 5  # short probes to a long one

START = 0.5  # of the rate at which a closed loop is served
RISE = 1.15
FALL = 0.7  # where even the first probe is late
MOST_SHORT = 14
MOST_PROBES = MOST_SHORT + 2 * PROBES  # void ones included

NEAR = 0.7  # of log(latency / limit): beyond, a probe counts by its side
ASIDE = 0.3  # ... of two of three probes, as the slope so far predicts it
MOST_ASIDE = 0.02  # ... but at most this, of log rate
WIDER = 1.25  # without it, the interval of 2 servers x 40 ms has the truth in 88 of 100 cases
_SLOPES = np.geomspace(0.7, 90, 12)[None, :, None]
_NOISES = np.geomspace(0.004, 0.1, 8)[None, None, :]
_BELOW, _ABOVE, _POINTS = 0.6, 0.15, 151  # the grid of log C, around the rate of the late probe

Grid = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe; `excess` is log(latency / limit), +inf with too many errors, -inf without data.

    `rate_rps` counts the requests that were sent. `length` is its part of a long probe.
    """

    rate_rps: float
    excess: float
    length: float = 1.0

    @property
    def is_late(self) -> bool:
        """Whether the limit was missed."""
        return self.excess > 0


@dataclass(frozen=True, slots=True)
class Ask:
    """The probe to send next."""

    rate_rps: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests per second with a 95 % interval; `slope` is that of log latency on log rate."""

    rps: float
    low: float
    high: float
    slope: float


def probe_of(window: Window, limit: CapacityLimit) -> Probe | None:
    """A window as a probe; None where its client sent nothing."""
    seconds = len(window.series) * SERIES_STEP_S
    if not window.sent or not seconds:
        return None
    rate = window.sent / seconds
    return Probe(rate, _excess(window, limit), seconds / long_s(rate, limit))


def probes_of(windows: Iterable[Window], limit: CapacityLimit) -> list[Probe]:
    """The windows as probes, without those that are void."""
    found = (probe_of(window, limit) for window in windows if not window.is_void)
    return [probe for probe in found if probe is not None]


def _excess(window: Window, limit: CapacityLimit) -> float:
    latency_ms = window.value(limit.metric)
    most = limit.error_rate * window.sent
    if latency_ms is None or window.errors > most + 2 * math.sqrt(most):  # 2: not by chance
        return math.inf
    return math.log(max(latency_ms, 1e-3) / limit.latency_ms)


def long_s(rate_rps: float, limit: CapacityLimit) -> float:
    """Seconds of a long probe at a rate."""
    wanted = max(LIMITS_LONG * limit.latency_ms / 1000, FEWEST_DUE / rate_rps)
    return min(LONGEST_S, wanted)


def _in_steps(seconds: float) -> float:
    """Whole steps of a window's series, which is how a probe says its length."""
    return math.ceil(seconds / SERIES_STEP_S) * SERIES_STEP_S


def next_probe(probes: Sequence[Probe], limit: CapacityLimit, saturated_rps: float) -> Ask | None:
    """The probe to send after these; None where there are enough, or no rate is right.

    `saturated_rps` is what a closed loop is served. No rate is right if all short probes are late,
    or none.
    """
    short, long = parted(probes)
    if not long and (rate := _short_rate(short, saturated_rps)) is not None:
        return Ask(rate, _in_steps(long_s(rate, limit) / SHORT))
    if not is_bracketed(short) or len(long) >= PROBES:
        return None
    guess = _posterior(long if len(long) > 1 else probes, _top(probes))
    side = (-1, 1, 0)[len(long) % 3]
    rate = guess.rps * math.exp(side * min(ASIDE / guess.slope, MOST_ASIDE))
    return Ask(rate, _in_steps(long_s(rate, limit)))


def estimate(probes: Sequence[Probe]) -> Estimate | None:
    """The capacity by the long probes; None before there are three."""
    _, long = parted(probes)
    if len(long) < PROBES // 2:
        return None
    found = _posterior(long, _top(probes))
    low, high = (found.rps * (end / found.rps) ** WIDER for end in (found.low, found.high))
    return replace(found, low=low, high=high)


def parted(probes: Sequence[Probe]) -> tuple[list[Probe], list[Probe]]:
    """The short and the long ones. A sent rate differs a little from the one that was asked for."""
    short = [probe for probe in probes if probe.length < 0.5]
    return short, [probe for probe in probes if probe not in short]


def is_bracketed(short: Sequence[Probe]) -> bool:
    """Whether the limit lies between two of the rates."""
    return len({probe.is_late for probe in short}) > 1


def _short_rate(short: Sequence[Probe], saturated_rps: float) -> float | None:
    """The next rate of the short probes; None where they are done."""
    if not short:
        return START * saturated_rps
    if is_bracketed(short) or len(short) >= MOST_SHORT:
        return None
    rates = [probe.rate_rps for probe in short]
    return FALL * min(rates) if short[0].is_late else RISE * max(rates)


def _top(probes: Sequence[Probe]) -> float:
    """The log of the lowest rate of the short probes that was late."""
    return math.log(min(probe.rate_rps for probe in parted(probes)[0] if probe.is_late))


def _posterior(probes: Sequence[Probe], top: float) -> Estimate:
    """Median and ends of the posterior of C; the slope is the geometric mean of its own."""
    centres = np.linspace(top - _BELOW, top + _ABOVE, _POINTS)
    logs = sum(_log_likelihood(probe, centres[:, None, None]) for probe in probes)
    weights = np.exp(logs - np.max(logs))
    cumulated = np.cumsum(weights.sum(axis=(1, 2))) / weights.sum()
    half = (centres[1] - centres[0]) / 2
    low, mid, high = (np.interp(p, cumulated, centres + half) for p in (0.025, 0.5, 0.975))
    slope = np.average(np.log(_SLOPES[0, :, 0]), weights=weights.sum(axis=(0, 2)))
    return Estimate(*(float(np.exp(value)) for value in (mid, low, high, slope)))


def _log_likelihood(probe: Probe, centres: Grid) -> Grid:
    """Of one probe, on the grid of log C, slope and noise. A shorter probe is noisier."""
    mean = _SLOPES * (math.log(probe.rate_rps) - centres)
    sd = _SLOPES * _NOISES / math.sqrt(min(1.0, probe.length))
    if abs(probe.excess) < NEAR:
        return np.asarray(-0.5 * ((probe.excess - mean) / sd) ** 2 - np.log(sd))
    beyond = mean if probe.is_late else -mean
    return np.asarray(special.log_ndtr((beyond - NEAR) / sd))
