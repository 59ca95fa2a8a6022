"""Charts of how candidates were chosen and confirmed: race, Pareto front, sequential looks.

All gains are shares, 0.05 being 5 % better than the baseline. An end of an interval that is None
is unbounded, and drawn to the edge.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tuner.charts.frame import Axis, Frame, Key, even_ticks, percent_axis
from tuner.charts.svg import area, line, mark, path, short, stacked, text

_ROW = 24  # pixels
_FARTHEST = 3.0
"""An interval is drawn at most this many times as far as the figures themselves reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure with its interval, in a list of such; a faint one is out of the running."""

    name: str
    gain: float
    low: float | None
    high: float | None
    is_faint: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """One look at a confirmation while it ran; `z` is None where it has no finite value."""

    blocks: int
    z: float | None
    bound: float
    gain: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A trial by two of its gains."""

    number: int
    across: float
    up: float
    is_chosen: bool = False


def race_chart(rounds: Sequence[Sequence[Row]], label: str) -> str:
    """Who stood where after each round; those that had to leave are hollow."""
    grouped = [(f"round {place}", own) for place, own in enumerate(rounds, 1)]
    told = "; ".join(
        f"{name}: " + ", ".join(f"{r.name} {100 * r.gain:+.1f} %" for r in own)
        for name, own in grouped
    )
    return _forest("Candidates, round by round", told, label, grouped, ("stays", "leaves"))


def effects_chart(rows: Sequence[Row], label: str) -> str:
    """What each group of lines contributes, apart from all others; hollow where it was put back."""
    told = "; ".join(f"{row.name} {100 * row.gain:+.1f} %" for row in rows)
    return _forest("Effect of each group of lines", told, label, [("", rows)], ("kept", "put back"))


def _forest(
    title: str,
    told: str,
    label: str,
    groups: Sequence[tuple[str, Sequence[Row]]],
    names: tuple[str, str],
) -> str:
    rows = [row for _, own in groups for row in own]
    lines = sum(len(own) + bool(name) for name, own in groups)
    frame = Frame(
        title=title,
        description=told,
        across=percent_axis(_reach(rows), label, 8),
        up=Axis(low=max(1, lines) - 0.5, high=-0.5, label="", ticks=[]),
        height=124 + _ROW * max(1, lines),
        left=190,
    )
    body, at = [frame.upright(0)], 0
    for name, own in groups:
        if name:
            body.append(text(frame.left - 10, frame.y(at) + 4, name, kind="strong", anchor="end"))
            at += 1
        for row in own:
            body += _figure(frame, at, row)
            at += 1
    legend = [Key(name=names[0], arm=0), Key(name=names[1], arm=0, shape="hollow")]
    return frame.drawn(body, legend)


def _reach(rows: Sequence[Row]) -> list[float]:
    """What the axis has to hold: all figures, and their intervals as far as they are readable."""
    gains = [row.gain for row in rows]
    size = max((abs(gain) for gain in gains), default=0.0) or 0.01
    ends = [end for row in rows for end in (row.low, row.high) if end is not None]
    return [*gains, *(min(max(end, -_FARTHEST * size), _FARTHEST * size) for end in ends)]


def _figure(frame: Frame, at: int, row: Row) -> Iterable[str]:
    y, arm = frame.y(at), 5 if row.is_faint else 0
    low = frame.left if row.low is None else frame.clipped_x(100 * row.low)
    high = frame.right if row.high is None else frame.clipped_x(100 * row.high)
    told = f"{row.name}: {100 * row.gain:+.1f} %{f', {row.note}' if row.note else ''}"
    shown = f"{row.name} ({row.note})" if row.note else row.name
    yield text(frame.left - 10, y + 4, short(shown, 28), anchor="end")
    yield path(f"M{low:.1f} {y:.1f}H{high:.1f}", f"s{arm} line")
    yield mark(frame.clipped_x(100 * row.gain), y, 0, hollow=row.is_faint, hint=told)


def confirmation(looks: Sequence[Glance], ratios: Sequence[float], label: str) -> str:
    """The blocks of a confirmation with the estimate as it ran, over the test that ended it.

    `ratios` are the gains of single blocks, in order. Without looks, as in jobs of old, there are
    the blocks alone.
    """
    above = _blocks(looks, ratios, label)
    return stacked(above, _tests(looks)) if looks else above


def _count_axis(last: int) -> Axis:
    ticks = [tick for tick in even_ticks(0, last, 8) if tick.at == int(tick.at)]
    return Axis(low=0, high=last + 0.5, label="fresh blocks", ticks=ticks)


def _last(looks: Sequence[Glance], ratios: Sequence[float]) -> int:
    return max([1, len(ratios), *(look.blocks for look in looks)])


def _blocks(looks: Sequence[Glance], ratios: Sequence[float], label: str) -> str:
    rows = [Row(name="", gain=ratio, low=None, high=None) for ratio in ratios]
    rows += [Row(name="", gain=look.gain, low=look.low, high=look.high) for look in looks]
    told = "; ".join(f"after {k.blocks} blocks {100 * k.gain:+.1f} %" for k in looks)
    frame = Frame(
        title="Confirmation: every block, and the estimate as it ran",
        description=f"{len(ratios)} blocks; {told or 'no looks were kept'}",
        across=_count_axis(_last(looks, ratios)),
        up=percent_axis(_reach(rows), label),
        height=320,
    )
    body = [frame.level(0)]
    body += [
        mark(frame.x(n), frame.y(100 * ratio), 5, hint=f"block {n}: {100 * ratio:+.1f} %")
        for n, ratio in enumerate(ratios, 1)
    ]
    body += _estimates(frame, looks)
    legend = [Key(name="block", arm=5)]
    if looks:
        legend.append(Key(name="estimate and 95 % interval", arm=0))
    return frame.drawn(body, legend)


def _estimates(frame: Frame, looks: Sequence[Glance]) -> Iterable[str]:
    def y(share: float | None, edge: float) -> float:
        found = edge if share is None else frame.y(100 * share)
        return min(max(found, 64.0), frame.floor)

    low = [(frame.x(look.blocks), y(look.low, frame.floor)) for look in looks]
    high = [(frame.x(look.blocks), y(look.high, 64.0)) for look in looks]
    middle = [(frame.x(look.blocks), frame.y(100 * look.gain)) for look in looks]
    if looks:
        yield area(low, high, 0)
        yield line(middle, 0)
    for (x, bottom), (_, top), (_, at) in zip(low, high, middle, strict=True):
        yield path(f"M{x:.1f} {bottom:.1f}V{top:.1f}", "s0 thin")
        yield mark(x, at, 0)


def _tests(looks: Sequence[Glance]) -> str:
    known = [(look.blocks, look.z) for look in looks if look.z is not None]
    largest = max([look.bound for look in looks if math.isfinite(look.bound)], default=2.0)
    reach = max([largest, *(min(abs(z), 3 * largest) for _, z in known)]) * 1.12
    told = "; ".join(
        f"after {k.blocks} blocks z {'unknown' if k.z is None else f'{k.z:.2f}'}, "
        f"bound {k.bound:.2f}"
        for k in looks
    )
    frame = Frame(
        title="The test, and the bounds that end it",
        description=told,
        across=_count_axis(_last(looks, ())),
        up=Axis(
            low=-reach,
            high=reach,
            label="z: beyond a bound it is over",
            ticks=even_ticks(-reach, reach, 6),
        ),
        height=280,
    )
    bounds = [(k.blocks, k.bound) for k in looks if math.isfinite(k.bound)]
    body = [frame.level(0)]
    for sign in (1, -1):
        points = [(frame.x(blocks), frame.y(sign * bound)) for blocks, bound in bounds]
        if points:
            body.append(line(points, 1, kind="line"))
        body += [path(f"M{x - 6:.1f} {y:.1f}h12", "s1 line") for x, y in points]
    path_of = [(frame.x(n), frame.y(min(max(z, -reach), reach))) for n, z in known]
    if path_of:
        body.append(line(path_of, 0))
    body += [
        mark(x, y, 0, hint=f"after {n} blocks: z {z:.2f}")
        for (x, y), (n, z) in zip(path_of, known, strict=True)
    ]
    legend = [Key(name="z", arm=0), Key(name="bound", arm=1, shape="line")]
    return frame.drawn(body, legend)


def pareto(spots: Sequence[Spot], across: str, up: str) -> str:
    """The trials in which no metric can be improved without another getting worse."""
    told = "; ".join(
        f"trial {s.number}: {100 * s.across:+.1f} % and {100 * s.up:+.1f} %"
        f"{' (chosen)' if s.is_chosen else ''}"
        for s in spots
    )
    frame = Frame(
        title="Pareto front",
        description=f"{across} against {up}: {told}",
        across=percent_axis([spot.across for spot in spots], across),
        up=percent_axis([spot.up for spot in spots], up),
    )
    body = [frame.level(0), frame.upright(0)]
    ordered = sorted(spots, key=lambda spot: (spot.across, -spot.up))
    points = [(frame.x(100 * s.across), frame.y(100 * s.up)) for s in ordered]
    if points:
        body.append(line(points, 5, kind="thin"))
    for spot, (x, y) in zip(ordered, points, strict=True):
        hint = f"trial {spot.number}: {100 * spot.across:+.1f} %, {100 * spot.up:+.1f} %"
        body.append(mark(x, y, 1 if spot.is_chosen else 0, hint=hint))
        body.append(text(x + 8, y - 6, str(spot.number), kind="small"))
    legend = [Key(name="trial", arm=0), Key(name="chosen", arm=1)]
    return frame.drawn(body, legend)


def interval_bar(gain: float, low: float | None, high: float | None, reach: float) -> str:
    """One interval around 0 as a picture beside a figure in a table; `reach` is the outer edge.

    It has no words of its own: the figure beside it says all.
    """
    width, height, middle = 132, 18, 9
    reach = reach or 0.01

    def x(share: float | None, edge: float) -> float:
        place = edge if share is None else min(max(share / reach, -1.0), 1.0)
        return width / 2 + place * (width / 2 - 6)

    arm = 2 if low is not None and low > 0 else 4 if high is not None and high < 0 else 5
    start, end = x(low, -1.0), x(high, 1.0)
    return (
        f'<svg class="chart" aria-hidden="true" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}">'
        f'<path class="grid" d="M{width / 2} 1V{height - 1}"/>'
        f'<path class="s{arm} line" d="M{start:.1f} {middle}H{end:.1f}"/>'
        f"{mark(x(gain, 0.0), middle, 0).replace('s0', f's{arm}')}</svg>"
    )
