"""Charts of what a search believes: which parameters matter, and what each value would bring."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tuner.nouns.model import Importance, Metric, Scalar, Slice, SlicePoint
from tuner.nouns.wording import share, value
from tuner.show.charts.frame import Axis, Frame, Key, Tick
from tuner.show.charts.gains import gain_axis, gain_in
from tuner.show.charts.svg import area, line, mark, path, short, text
from tuner.show.charts.values import ValueAxis

_ROW = 26  # pixels


def slice_band(
    found: Slice,
    metric: Metric,
    *,
    users: Scalar | None = None,
    chosen: Scalar | None = None,
    reach: Iterable[float] | None = None,
) -> str:
    """What is expected along one parameter, with the values of the user's file and of the new one.

    `reach` are the shares that the axis has to hold, of all slices that shall be comparable.
    """
    points = [point for point in found.points if gain_in(point, metric).is_known]
    ends = [end for point in points for end in gain_in(point, metric)]
    scale = ValueAxis.of([point.value for point in points] or [0], 6)
    in_text = "; ".join(
        f"{value(point.value)}: {gain_in(point, metric).figure}" for point in points
    )
    frame = Frame(
        title=short(found.parameter, 38),
        description=f"expected gain along {found.parameter}: {in_text}",
        across=_padded(scale.axis),
        up=gain_axis(reach or ends, metric, 5),
        width=370,
        height=250,
        left=52,
    )
    body = [frame.level(0)]
    for at, name, y in _marked(scale.place(users), scale.place(chosen)):
        body += [frame.upright(at, "bound"), text(frame.x(at) + 4, y, name, kind="small")]
    across = [frame.x(scale.places[type(point.value), point.value]) for point in points]
    return frame.drawn([*body, *_curve(frame, points, across, metric)], [])


def _marked(users: float | None, chosen: float | None) -> Iterable[tuple[float, str, int]]:
    """Places that have a name, with the height of that name in pixels."""
    if users is not None:
        yield users, "yours, kept" if users == chosen else "yours", 76
    if chosen is not None and chosen != users:
        yield chosen, "new", 90


def _padded(axis: Axis) -> Axis:
    """With room at both ends, so that no mark lies on the frame."""
    if axis.is_log:
        return replace(axis, low=axis.low / 1.15, high=axis.high * 1.15)
    room = 0.08 * (axis.high - axis.low)
    return replace(axis, low=axis.low - room, high=axis.high + room)


def _curve(
    frame: Frame, points: Sequence[SlicePoint], across: Sequence[float], metric: Metric
) -> Iterable[str]:
    """A line with its band where values are numbers; points with whiskers where they are words."""
    gains = [gain_in(point, metric) for point in points]
    middle, lower, upper = (
        [(x, frame.clipped_y(gain[end])) for x, gain in zip(across, gains, strict=True)]
        for end in range(3)
    )
    if any(isinstance(point.value, bool | str) for point in points):
        for (x, low), (_, high) in zip(lower, upper, strict=True):
            yield path(f"M{x:.1f} {low:.1f}V{high:.1f}", "s0 line")
    elif points:
        yield area(lower, upper, 0)
        yield line(middle, 0)
    for (x, y), point, gain in zip(middle, points, gains, strict=True):
        yield mark(x, y, 0, hint=f"{value(point.value)}: {gain.figure} ({gain.interval})")


def importance_bars(importances: Sequence[Importance]) -> str:
    """The share of every parameter, each with its interval."""
    in_text = "; ".join(f"{own.parameter} {share(own.share, 0)}" for own in importances)
    count = max(1, len(importances))
    frame = Frame(
        title="Share of each parameter",
        description=f"share of each parameter in what the search saw change: {in_text}",
        across=Axis(
            low=0,
            high=1,
            label="share in what the search saw change, %",
            ticks=[Tick(at / 100, str(at)) for at in range(0, 101, 20)],
        ),
        up=Axis.rows(
            count, [Tick(float(n), short(own.parameter, 24)) for n, own in enumerate(importances)]
        ),
        height=128 + _ROW * count,
        left=180,
    )
    body = [shape for row, own in enumerate(importances) for shape in _bar(frame, row, own)]
    return frame.drawn(body, [Key(name="90 % interval", arm=5, shape="line")])


def _bar(frame: Frame, row: int, own: Importance) -> Iterable[str]:
    y, x = frame.y(row), frame.clipped_x(own.share)
    low, high = frame.clipped_x(own.low), frame.clipped_x(own.high)
    ends = f"{share(own.low, 0)} .. {share(own.high, 0)}"
    hint = f"{own.parameter}: {share(own.share, 0)} ({ends})"
    width = x - frame.left
    yield path(f"M{frame.left} {y - 7:.1f}h{width:.1f}v14h{-width:.1f}Z", "s0", hint, 0.75)
    yield path(
        f"M{low:.1f} {y:.1f}H{high:.1f}M{low:.1f} {y - 4:.1f}v8M{high:.1f} {y - 4:.1f}v8", "s5 line"
    )
