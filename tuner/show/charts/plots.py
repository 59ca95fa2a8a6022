"""The two charts of a measurement: its windows over time, and its latencies by percentile."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from tuner.nouns.model import Histogram
from tuner.nouns.schemas import WindowAnswer
from tuner.show.charts.frame import TOP, Axis, Frame, Tick, keys, log_ticks
from tuner.show.charts.svg import line, mark

_PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
_STEPS_PER_DECADE = 40


def windows_over_time(arms: Mapping[str, Sequence[WindowAnswer]]) -> str:
    """Throughput of every window by file name; hollow where void, every other block shaded."""
    windows = [window for own in arms.values() for window in own]
    start = min((window.started_at for window in windows), default=None)
    last_s = max((_seconds(window, start) for window in windows), default=0.0)
    end = max(1.0, last_s * 1.02)
    void = sum(window.is_void for window in windows)
    frame = Frame(
        title="Throughput by window",
        description=f"{len(windows)} windows of {', '.join(arms)}; {void} void windows are hollow, "
        "every other block is shaded",
        across=Axis.even(0, end, "time since the first window, s", 8),
        up=_rates(windows),
    )
    marks = [
        mark(frame.x(_seconds(w, start)), frame.y(w.throughput_rps), arm, hollow=w.is_void)
        for arm, own in enumerate(arms.values())
        for w in own
    ]
    return frame.drawn([*_bands(frame, windows, start), *marks], keys(arms))


def _rates(windows: Sequence[WindowAnswer]) -> Axis:
    """From 0, unless all rates are so close that they would look equal."""
    low = min((window.throughput_rps for window in windows), default=0.0)
    high = max((window.throughput_rps for window in windows), default=0.0) or 1.0
    floor = 0.0 if low < 0.7 * high else low - 0.5 * (high - low + 0.02 * high)
    label = "requests/s" if floor <= 0 else "requests/s (axis does not start at 0)"
    top = high + 0.08 * (high - floor)
    floor = max(0.0, floor)
    return Axis.even(floor, top, label)


def _seconds(window: WindowAnswer, start: datetime | None) -> float:
    return (window.started_at - start).total_seconds() if start else 0.0


def _bands(frame: Frame, windows: Iterable[WindowAnswer], start: datetime | None) -> Iterable[str]:
    spans: dict[int, list[float]] = {}
    for window in windows:
        spans.setdefault(window.block, []).append(frame.x(_seconds(window, start)))
    for place, block in enumerate(sorted(spans, key=lambda key: min(spans[key]))):
        if place % 2:
            left, right = min(spans[block]) - 7, max(spans[block]) + 7
            yield (
                f'<rect class="band" x="{left:.1f}" y="{TOP}" width="{right - left:.1f}"'
                f' height="{frame.floor - TOP}"/>'
            )


def latency_percentiles(arms: Mapping[str, Histogram]) -> str:
    """Latency by percentile, by file name: from the median up to the last ten requests.

    The axis is logarithmic in the share of slower requests, so that each nine has the same room.
    """
    curves = {name: list(_curve(histogram)) for name, histogram in arms.items()}
    times = [time for curve in curves.values() for _, time in curve]
    low, high = min(times, default=1.0), max(times, default=10.0)
    low, high = low / 1.15, max(high * 1.15, low * 2)
    ticks = log_ticks(low, high)
    frame = Frame(
        title="Latency by percentile",
        description=f"Latency of {', '.join(arms)}: {_described(arms)}",
        across=Axis(
            low=2.0,
            high=1000.0,
            label="percentile of requests, %",
            ticks=[Tick(_rarity(percentile), f"{percentile:g}") for percentile in _PERCENTILES],
            is_log=True,
        ),
        up=Axis(low=low, high=high, label="latency, ms (log)", ticks=ticks, is_log=True),
    )
    body = []
    for arm, curve in enumerate(curves.values()):
        points = [(frame.x(rarity), frame.y(time)) for rarity, time in curve]
        if points:
            body += [line(points, arm), mark(*points[-1], arm)]
    return frame.drawn(body, keys(arms))


def _rarity(percentile: float) -> float:
    """One request in this many is slower: 100 for the 99th percentile."""
    return 100 / (100 - percentile)


def _curve(histogram: Histogram) -> Iterable[tuple[float, float]]:
    """Rarity and time in ms, up to the last ten requests."""
    reach = min(1000.0, histogram.total / 10)
    if reach < 2:
        return
    steps = math.ceil(_STEPS_PER_DECADE * math.log10(reach / 2))
    for step in range(steps + 1):
        rarity = min(reach, 2 * 10 ** (step / _STEPS_PER_DECADE))
        time = histogram.percentile_ms(1 - 1 / rarity)
        if time is not None and time > 0:
            yield rarity, time


def _described(arms: Mapping[str, Histogram]) -> str:
    """The figures of a chart in words, for readers who cannot see it."""
    described = []
    for name, histogram in arms.items():
        shown = [
            f"{p:g} % within {time:.3g} ms"
            for p in (50.0, 95.0, 99.0)
            if (time := histogram.percentile_ms(p / 100)) is not None
        ]
        described.append(f"{name} {', '.join(shown) or 'without requests'}")
    return "; ".join(described)
