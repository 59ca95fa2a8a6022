"""The two charts of a measurement: its windows over time, and its latencies by percentile."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tuner.charts.frame import TOP, Axis, Frame, Tick, even_ticks, keys, log_ticks
from tuner.charts.svg import line, mark
from tuner.model import Histogram

_PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
_STEPS_PER_DECADE = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One window: when it started, its requests/s, the block that it belongs to."""

    at: datetime
    rps: float
    block: int
    is_void: bool = False


def windows_over_time(arms: Mapping[str, Sequence[Dot]]) -> str:
    """Throughput of every window by file name; hollow where void, every other block shaded."""
    dots = [dot for own in arms.values() for dot in own]
    start = min((dot.at for dot in dots), default=None)
    last_s = max((_seconds(dot, start) for dot in dots), default=0.0)
    across = Axis(
        low=0,
        high=max(1.0, last_s * 1.02),
        label="time since the first window, s",
        ticks=even_ticks(0, max(1.0, last_s * 1.02), 8),
    )
    void = sum(dot.is_void for dot in dots)
    frame = Frame(
        title="Throughput by window",
        description=f"{len(dots)} windows of {', '.join(arms)}; {void} void ones are hollow, "
        "blocks are told apart by shading",
        across=across,
        up=_rates(dots),
    )
    body = [*_bands(frame, dots, start)]
    for arm, own in enumerate(arms.values()):
        body += [
            mark(frame.x(_seconds(dot, start)), frame.y(dot.rps), arm, hollow=dot.is_void)
            for dot in own
        ]
    return frame.drawn(body, keys(arms))


def _rates(dots: Sequence[Dot]) -> Axis:
    """From 0, unless all lie so close together that nothing could be told apart."""
    low = min((dot.rps for dot in dots), default=0.0)
    high = max((dot.rps for dot in dots), default=0.0) or 1.0
    floor = 0.0 if low < 0.7 * high else low - 0.5 * (high - low + 0.02 * high)
    label = "requests/s" if floor <= 0 else "requests/s (axis does not start at 0)"
    top = high + 0.08 * (high - floor)
    floor = max(0.0, floor)
    return Axis(low=floor, high=top, label=label, ticks=even_ticks(floor, top))


def _seconds(dot: Dot, start: datetime | None) -> float:
    return (dot.at - start).total_seconds() if start else 0.0


def _bands(frame: Frame, dots: Iterable[Dot], start: datetime | None) -> Iterable[str]:
    spans: dict[int, list[float]] = {}
    for dot in dots:
        spans.setdefault(dot.block, []).append(frame.x(_seconds(dot, start)))
    for place, block in enumerate(sorted(spans, key=lambda key: min(spans[key]))):
        if place % 2:
            left, right = min(spans[block]) - 7, max(spans[block]) + 7
            yield (
                f'<rect class="band" x="{left:.1f}" y="{TOP}" width="{right - left:.1f}"'
                f' height="{frame.floor - TOP}"/>'
            )


def latency_percentiles(arms: Mapping[str, Histogram]) -> str:
    """Latency by percentile, by file name: from the median on, as far as ten requests lie beyond.

    The axis is even in the logarithm of the share above, so that each nine has the same room.
    """
    curves = {name: list(_curve(histogram)) for name, histogram in arms.items()}
    times = [time for curve in curves.values() for _, time in curve]
    low, high = min(times, default=1.0), max(times, default=10.0)
    low, high = low / 1.15, max(high * 1.15, low * 2)
    ticks = log_ticks(low, high)
    frame = Frame(
        title="Latency by percentile",
        description=f"Latency of {', '.join(arms)}: {_told(arms)}",
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
    """Of how many requests one is slower: 100 for the 99th percentile."""
    return 100 / (100 - percentile)


def _curve(histogram: Histogram) -> Iterable[tuple[float, float]]:
    """Rarity and time in ms, as far as ten requests lie beyond."""
    reach = min(1000.0, histogram.total / 10)
    if reach < 2:
        return
    steps = math.ceil(_STEPS_PER_DECADE * math.log10(reach / 2))
    for step in range(steps + 1):
        rarity = min(reach, 2 * 10 ** (step / _STEPS_PER_DECADE))
        time = histogram.percentile_ms(1 - 1 / rarity)
        if time is not None and time > 0:
            yield rarity, time


def _told(arms: Mapping[str, Histogram]) -> str:
    """The figures of a chart in words, for who cannot see it."""
    told = []
    for name, histogram in arms.items():
        shown = [
            f"{p:g} % within {time:.3g} ms"
            for p in (50.0, 95.0, 99.0)
            if (time := histogram.percentile_ms(p / 100)) is not None
        ]
        told.append(f"{name} {', '.join(shown) or 'without requests'}")
    return "; ".join(told)
