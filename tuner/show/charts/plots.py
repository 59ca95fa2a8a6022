"""The two charts of a measurement: its windows over time, and its latencies by percentile."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from tuner.nouns.model import Effect, Histogram
from tuner.nouns.schemas import WindowAnswer
from tuner.nouns.wording import bounded, percent
from tuner.show.charts.frame import TOP, Axis, Frame, Tick, keys, log_ticks
from tuner.show.charts.svg import escaped, line, mark, path

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


# ---- The answers of an app over time, as a small picture in a row of a table

_WIDTH, _HEIGHT, _MARGIN = 132, 34, 7  # pixels
_FARTHEST = 3.0
"""An interval is drawn at most this many times as far as the effects themselves reach."""


def sparkline(effects: Sequence[Effect | None]) -> str:
    """Effects with their intervals, the oldest first, better above the line of 0.

    None is an answer without a figure: its place stays empty. Empty where no figure is known.
    """
    known = [(place, effect) for place, effect in enumerate(effects) if effect is not None]
    if not known:
        return ""
    reach = _FARTHEST * max(0.01, *(abs(effect.estimate) for _, effect in known))
    gains = [(place, *_gain(effect, reach)) for place, effect in known]
    low = min(0.0, *(low for _, _, low, _ in gains))
    high = max(0.0, *(high for _, _, _, high in gains))

    def x(place: int) -> float:
        if len(effects) == 1:
            return _WIDTH / 2
        return _MARGIN + place / (len(effects) - 1) * (_WIDTH - 2 * _MARGIN)

    def y(share: float) -> float:
        return _HEIGHT - _MARGIN - (share - low) / ((high - low) or 1.0) * (_HEIGHT - 2 * _MARGIN)

    said = ", ".join(percent(effect.estimate) for _, effect in known)
    parts = [path(f"M0 {y(0):.1f}H{_WIDTH}", "grid")]
    parts += [path(f"M{x(n):.1f} {y(a):.1f}V{y(b):.1f}", "s5 thin") for n, _, a, b in gains]
    parts += [line([(x(n), y(gain)) for n, gain, _, _ in gains], 5, kind="thin")]
    parts += [mark(x(n), y(gain), 0) for n, gain, _, _ in gains]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart spark" role="img" width="{_WIDTH}"'
        f' height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        f"<title>{escaped(f'effects, the oldest first: {said}')}</title>{''.join(parts)}</svg>\n"
    )


def _gain(effect: Effect, reach: float) -> tuple[float, float, float]:
    """The effect turned so that better is above, with both ends of its interval."""
    ends = [bounded(end) for end in (effect.ci_low, effect.ci_high)]
    low, high = (
        own if end is None else max(-reach, min(end, reach))
        for end, own in zip(ends, (-reach, reach), strict=True)
    )
    sign = effect.metric.sign
    one, other = sign * low, sign * high
    return sign * effect.estimate, min(one, other), max(one, other)
