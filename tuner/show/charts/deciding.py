"""Charts of how candidates were chosen and confirmed: race, Pareto front, sequential looks."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from tuner.nouns.model import Factor, Look, Metric, ParetoPoint, Round, SlicePoint, Standing, Trial
from tuner.nouns.wording import gain_label, improvement, interval, percent, share_of
from tuner.show.charts.frame import Axis, Frame, Key, Tick, even_ticks
from tuner.show.charts.svg import area, line, mark, path, short, stacked, text

# ---- Gains as charts and tables show them: log ratios become shares here, and nowhere else in a
# page
#
# A share of 0.05 is 5 % better than the baseline.

_FARTHEST = 3.0
"""An interval is drawn at most this many times as far as the gains themselves reach."""


class Gain(NamedTuple):
    """A gain with its interval, as shares; what is unbounded is infinite."""

    centre: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether there is a figure at all."""
        return math.isfinite(self.centre)

    @property
    def figure(self) -> str:
        """`+5.0 %`, or `unknown`."""
        return percent(self.centre) if self.is_known else "unknown"

    @property
    def interval(self) -> str:
        """`+1.2 % .. +9.1 %`."""
        return interval(self.low, self.high)


def gain_in(found: Look | Standing | Factor | SlicePoint, metric: Metric) -> Gain:
    """The gain that a noun holds as log ratios."""
    match found:
        case Look(estimate=centre) | Factor(effect=centre):
            logs = (centre, found.low, found.high)
        case Standing() | SlicePoint():
            logs = (found.gain, found.low, found.high)
        case _:
            assert_never(found)
    return Gain(*(share_of(log, metric) for log in logs))


def gain_of(trial: Trial, metric: Metric) -> float | None:
    """By which share a trial was better than the baseline of its own blocks; None: no result."""
    return improvement(trial.outcome.score if trial.outcome else None, metric)


def gain_axis(shares: Iterable[float], metric: Metric, wanted: int = 6) -> Axis:
    """An axis in percent around 0, wide enough for all of these shares that are bounded."""
    known = [100 * share for share in shares if math.isfinite(share)]
    low, high = min([0.0, *known]), max([0.0, *known])
    room = max(0.08 * (high - low), 0.5)
    low, high = low - room, high + room
    ticks = [Tick(tick.at / 100, tick.label) for tick in even_ticks(low, high, wanted)]
    return Axis(low=low / 100, high=high / 100, label=gain_label(metric), ticks=ticks)


def readable(gains: Iterable[Gain]) -> list[float]:
    """The shares that an axis has to hold: all gains, and the readable part of their intervals."""
    known = [gain for gain in gains if gain.is_known]
    farthest = _FARTHEST * (max((abs(gain.centre) for gain in known), default=0.0) or 0.01)
    ends = [end for gain in known for end in (gain.low, gain.high) if math.isfinite(end)]
    return [gain.centre for gain in known] + [min(max(end, -farthest), farthest) for end in ends]


# ---- Charts of how candidates were chosen and confirmed: race, Pareto front, sequential looks
#
# An interval without bounds reaches the edge of its chart.

_ROW = 24  # pixels

LARGEST_Z = 1e6
"""A larger z is unbounded: the blocks do not differ at all."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A gain in a list of such; a faint one is out of the running."""

    name: str
    gain: Gain
    is_faint: bool
    note: str = ""


def race_chart(rounds: Sequence[Round], metric: Metric) -> str:
    """Every candidate after each round; those that leave are hollow."""
    groups = [(f"round {place}", _standings(own, metric)) for place, own in enumerate(rounds, 1)]
    return _forest("Candidates, round by round", groups, metric, ("stays", "leaves"))


def _standings(own: Round, metric: Metric) -> list[_Row]:
    return [
        _Row(
            f"trial {found.number}",
            gain_in(found, metric),
            is_faint=rank >= own.survivors,
            note="unstable" if found.is_unstable else "",
        )
        for rank, found in enumerate(own.standings)
    ]


def effects_chart(factors: Sequence[Factor], metric: Metric) -> str:
    """What each group of lines contributes, apart from all others; hollow where it was put back."""
    rows = [
        _Row(" + ".join(found.parameters), gain_in(found, metric), is_faint=not found.is_kept)
        for found in factors
    ]
    return _forest("Effect of each group of lines", [("", rows)], metric, ("kept", "put back"))


def _forest(
    title: str,
    groups: Sequence[tuple[str, Sequence[_Row]]],
    metric: Metric,
    names: tuple[str, str],
) -> str:
    """Gains with their intervals, group by group; rows of unknown gain are left out."""
    known = [(name, [row for row in own if row.gain.is_known]) for name, own in groups]
    lines = max(1, sum(len(own) + bool(name) for name, own in known))
    described = "; ".join(
        f"{name}{': ' * bool(name)}{', '.join(f'{row.name} {row.gain.figure}' for row in own)}"
        for name, own in known
    )
    reach = readable(row.gain for _, own in known for row in own)
    frame = Frame(
        title=title,
        description=described,
        across=gain_axis(reach, metric, 8),
        up=Axis.rows(lines),
        height=124 + _ROW * lines,
        left=190,
    )
    body, at = [frame.upright(0)], 0
    for name, own in known:
        if name:
            body.append(text(frame.left - 10, frame.y(at) + 4, name, kind="strong", anchor="end"))
            at += 1
        for row in own:
            body += _figure(frame, at, row)
            at += 1
    legend = [Key(name=names[0], arm=0), Key(name=names[1], arm=0, shape="hollow")]
    return frame.drawn(body, legend)


def _figure(frame: Frame, at: int, row: _Row) -> Iterable[str]:
    y, arm = frame.y(at), 5 if row.is_faint else 0
    x, low, high = (frame.clipped_x(share) for share in row.gain)
    described = f"{row.name}: {row.gain.figure}{f', {row.note}' if row.note else ''}"
    shown = f"{row.name} ({row.note})" if row.note else row.name
    yield text(frame.left - 10, y + 4, short(shown, 28), anchor="end")
    yield path(f"M{low:.1f} {y:.1f}H{high:.1f}", f"s{arm} line")
    yield mark(x, y, 0, hollow=row.is_faint, hint=described)


def confirmation(looks: Sequence[Look], blocks: Sequence[float], metric: Metric) -> str:
    """The blocks of a confirmation with its running estimate, above the test that ended it.

    `blocks` are the log ratios of single blocks, in order. Without looks the blocks stand alone.
    """
    known = [look for look in looks if gain_in(look, metric).is_known]
    gains = [gain for log in blocks if math.isfinite(gain := share_of(log, metric))]
    above = _blocks(known, gains, metric)
    return stacked(above, _tests(known)) if known else above


def _blocks(looks: Sequence[Look], blocks: Sequence[float], metric: Metric) -> str:
    estimates = {look.blocks: gain_in(look, metric) for look in looks}
    described = "; ".join(f"after {n} blocks {gain.figure}" for n, gain in estimates.items())
    frame = Frame(
        title="Confirmation: every block, and the running estimate",
        description=f"{len(blocks)} blocks; {described or 'no looks were kept'}",
        across=Axis.counting(0, max([1, len(blocks), *estimates]), "fresh blocks", 8),
        up=gain_axis(
            readable([*(Gain(own, own, own) for own in blocks), *estimates.values()]), metric
        ),
        height=320,
    )
    body = [frame.level(0)]
    body += [
        mark(frame.x(n), frame.y(own), 5, hint=f"block {n}: {percent(own)}")
        for n, own in enumerate(blocks, 1)
    ]
    legend = [Key(name="block", arm=5)]
    if estimates:
        body += _estimates(frame, estimates)
        legend.append(Key(name="estimate and 95 % interval", arm=0))
    return frame.drawn(body, legend)


def _estimates(frame: Frame, estimates: Mapping[int, Gain]) -> Iterable[str]:
    middle, low, high = (
        [(frame.x(n), frame.clipped_y(gain[end])) for n, gain in estimates.items()]
        for end in range(3)
    )
    yield area(low, high, 0)
    yield line(middle, 0)
    for (x, bottom), (_, top), (_, at) in zip(low, high, middle, strict=True):
        yield path(f"M{x:.1f} {bottom:.1f}V{top:.1f}", "s0 thin")
        yield mark(x, at, 0)


def _tests(looks: Sequence[Look]) -> str:
    known = [(look.blocks, look.z) for look in looks if abs(look.z) < LARGEST_Z]
    bounds = [(look.blocks, look.bound) for look in looks if math.isfinite(look.bound)]
    largest = max([bound for _, bound in bounds], default=2.0)
    reach = max([largest, *(min(abs(z), 3 * largest) for _, z in known)]) * 1.12
    described = "; ".join(
        f"after {k.blocks} blocks z {f'{k.z:.2f}' if abs(k.z) < LARGEST_Z else 'unbounded'}, "
        f"bound {k.bound:.2f}"
        for k in looks
    )
    frame = Frame(
        title="The test, and the bounds that end it",
        description=described,
        across=Axis.counting(0, max(look.blocks for look in looks), "fresh blocks", 8),
        up=Axis.even(-reach, reach, "z: the test ends beyond a bound"),
        height=280,
    )
    body = [frame.level(0)]
    for sign in (1, -1):
        ends = [(frame.x(blocks), frame.y(sign * bound)) for blocks, bound in bounds]
        body += [line(ends, 1)] * bool(ends)
        body += [path(f"M{x - 6:.1f} {y:.1f}h12", "s1 line") for x, y in ends]
    steps = [(frame.x(n), frame.y(min(max(z, -reach), reach))) for n, z in known]
    body += [line(steps, 0)] * bool(steps)
    body += [
        mark(x, y, 0, hint=f"after {n} blocks: z {z:.2f}")
        for (x, y), (n, z) in zip(steps, known, strict=True)
    ]
    return frame.drawn(body, [Key(name="z", arm=0), Key(name="bound", arm=1, shape="line")])


def pareto(points: Sequence[ParetoPoint], across: Metric, up: Metric) -> str:
    """The trials in which no metric can be improved without another getting worse."""
    known = [
        (share_of(point.gains[across], across), share_of(point.gains[up], up), point)
        for point in points
        if across in point.gains and up in point.gains
    ]
    known = [spot for spot in known if math.isfinite(spot[0]) and math.isfinite(spot[1])]
    known.sort(key=lambda spot: (spot[0], -spot[1]))
    described = "; ".join(
        f"trial {point.number}: {percent(x)} and {percent(y)}{' (chosen)' * point.is_chosen}"
        for x, y, point in known
    )
    frame = Frame(
        title="Pareto front",
        description=f"{gain_label(across)} against {gain_label(up)}: {described}",
        across=gain_axis([x for x, _, _ in known], across),
        up=gain_axis([y for _, y, _ in known], up),
    )
    body = [frame.level(0), frame.upright(0)]
    places = [(frame.x(x), frame.y(y)) for x, y, _ in known]
    if places:
        body.append(line(places, 5, kind="thin"))
    for (left, top), (x, y, point) in zip(places, known, strict=True):
        hint = f"trial {point.number}: {percent(x)}, {percent(y)}"
        body.append(mark(left, top, 1 if point.is_chosen else 0, hint=hint))
        body.append(text(left + 8, top - 6, str(point.number), kind="small"))
    return frame.drawn(body, [Key(name="trial", arm=0), Key(name="chosen", arm=1)])


def interval_bar(gain: float, low: float | None, high: float | None, reach: float) -> str:
    """One interval around 0, as shares, as a small picture beside a figure in a table.

    `reach` is the gain at the outer edge; None is unbounded. The figure beside it has the words.
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
