"""What the probes of a file say of its capacity: the curve, a sentence, and the doubts."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tuner.judge.capacity import (
    Estimate,
    Probe,
    estimate,
    is_bracketed,
    parted,
    probe_of,
    probes_of,
)
from tuner.nouns import wording
from tuner.nouns.model import (
    SERIES_STEP_S,
    CapacityLimit,
    CapacityPoint,
    CapacityReport,
    Doubt,
    Window,
)

GENERATOR = (Doubt.CLIENT_SATURATED, Doubt.BENCH_BUSY, Doubt.BENCH_FULL)
FLAT_FROM = 0.7  # of the limit, where the lowest rate is


def report(
    windows: Sequence[Window], limit: CapacityLimit, first: Sequence[Window] | None = None
) -> CapacityReport:
    """What the probes of one file say, and the ratio to the `first` file.

    Probes of several starts count alike, so the interval holds what differs between them.
    """
    found, words = _found(windows, limit), wording.capacity_limit(limit)
    points = tuple(_points(windows, limit))
    if found is None:
        sentence, notes = f"no capacity was found: {_why(windows, limit, points)}", ()
        return CapacityReport(rps=None, points=points, sentence=sentence, notes=notes)
    sentence = (
        f"carries {wording.figure(found.rps)} requests/s"
        f" ({wording.figure(found.low)} .. {wording.figure(found.high)}) with {words}"
    )
    own = CapacityReport(
        rps=found.rps,
        ci_low=found.low,
        ci_high=found.high,
        points=points,
        sentence=sentence,
        notes=tuple(_notes(windows, limit)),
    )
    other = None if first is None else _found(first, limit)
    return own if other is None else _against(own, found, other)


def _found(windows: Iterable[Window], limit: CapacityLimit) -> Estimate | None:
    probes = probes_of(windows, limit)
    if not is_bracketed(parted(probes)[0]) or _is_flat(probes):
        return None
    return estimate(probes)


def _is_flat(probes: Sequence[Probe]) -> bool:
    """Whether the latency hardly depends on the rate: then many rates are the capacity."""
    lowest = min(probes, key=lambda probe: probe.rate_rps, default=None)
    return lowest is not None and lowest.excess > math.log(FLAT_FROM)


def _against(own: CapacityReport, found: Estimate, first: Estimate) -> CapacityReport:
    """With the ratio. Both intervals are independent, on a scale of logs."""
    log = math.log(found.rps / first.rps)
    half = math.hypot(*(math.log(each.high / each.low) / 2 for each in (found, first)))
    low, mid, high = (math.exp(log + side * half) for side in (-1, 0, 1))
    return replace(own, ratio=mid, ratio_low=low, ratio_high=high)


def _points(windows: Iterable[Window], limit: CapacityLimit) -> Iterator[CapacityPoint]:
    known = [(probe, window) for window in windows if (probe := probe_of(window, limit))]
    for probe, window in sorted(known, key=lambda each: each[0].rate_rps):
        yield CapacityPoint(
            rate_rps=probe.rate_rps,
            seconds=len(window.series) * SERIES_STEP_S,
            latency_p50_ms=window.latency_p50_ms,
            latency_p95_ms=window.latency_p95_ms,
            latency_p99_ms=window.latency_p99_ms,
            error_rate=window.error_rate,
            is_late=probe.is_late,
        )


def _why(windows: Sequence[Window], limit: CapacityLimit, points: Sequence[CapacityPoint]) -> str:
    words = wording.capacity_limit(limit)
    if not points:
        return "nothing was measured"
    if all(point.is_late for point in points):
        return f"even {wording.figure(points[0].rate_rps)} requests/s are not carried with {words}"
    if not any(point.is_late for point in points):
        most = wording.figure(points[-1].rate_rps)
        return f"{most} requests/s were carried with {words}, and more were not tried"
    if _is_flat(probes_of(windows, limit)):
        at = f"already at {wording.figure(points[0].rate_rps)} requests/s"
        most = f"{wording.share(FLAT_FROM)} of {limit.latency_ms:g} ms"
        return f"{at} the latency is above {most}, and it rises slowly with the rate"
    return "too few probes can be used"


def _notes(windows: Sequence[Window], limit: CapacityLimit) -> Iterator[str]:
    yield "arrivals were Poisson: bursts lower it"
    yield "the interval is that of these starts: another start of the same file may differ from it"
    if any(doubt in GENERATOR for window in windows for doubt in window.doubts):
        yield "the load generator was near its own limit: the app may carry more"
    void = sum(window.is_void for window in windows)
    if void:
        yield f"{wording.count(void, 'probe')} could not be used"
