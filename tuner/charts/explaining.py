"""Charts of what a search believes: which parameters matter, and what each value would bring.

All gains are shares, 0.05 being 5 % better than the baseline.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tuner.charts.frame import Axis, Frame, Key, Tick, percent_axis
from tuner.charts.searching import Value, places_of, value_axis, value_text
from tuner.charts.svg import area, line, mark, path, short, text

_ROW = 26  # pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """The expected gain at one value of a parameter, with its 90 % band."""

    value: Value
    gain: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A parameter's share in what changed, 0..1, with its 90 % interval."""

    name: str
    share: float
    low: float
    high: float


def slice_band(
    parameter: str,
    guesses: Sequence[Guess],
    label: str,
    *,
    users: Value | None = None,
    chosen: Value | None = None,
    reach: tuple[float, float] | None = None,
) -> str:
    """What is expected along one parameter, with the values of the user's file and of the new one.

    `reach` are the lowest and highest gain of all slices that shall be comparable at a glance.
    """
    shown = [end for guess in guesses for end in (guess.low, guess.high)]
    values = [guess.value for guess in guesses] or [0]
    told = "; ".join(f"{value_text(g.value)}: {100 * g.gain:+.1f} %" for g in guesses)
    frame = Frame(
        title=short(parameter, 38),
        description=f"expected gain along {parameter}: {told}",
        across=_padded(value_axis(values, "", 6)),
        up=percent_axis(reach or shown, label, 5),
        width=370,
        height=250,
        left=52,
    )
    places = dict(zip(((type(v), v) for v in values), places_of(values), strict=True))
    body = [frame.level(0)]
    for value, name in _marked(users, chosen):
        at = places.get((type(value), value))
        if at is not None:
            body += [frame.upright(at, "bound")]
            body += [text(frame.x(at) + 4, 90 if name == "new" else 76, name, kind="small")]
    return frame.drawn([*body, *_curve(frame, guesses, list(places.values()))], [])


def _marked(users: Value | None, chosen: Value | None) -> Iterable[tuple[Value, str]]:
    """The values that have a name."""
    if users is not None:
        yield users, "yours, kept" if _is_same(users, chosen) else "yours"
    if chosen is not None and not _is_same(users, chosen):
        yield chosen, "new"


def _is_same(one: Value | None, other: Value | None) -> bool:
    """Whether both are the same value; true is not 1 here."""
    return one == other and type(one) is type(other)


def _padded(axis: Axis) -> Axis:
    """With room at both ends, so that no mark lies on the frame."""
    if axis.is_log:
        return Axis(
            low=axis.low / 1.15,
            high=axis.high * 1.15,
            label=axis.label,
            ticks=axis.ticks,
            is_log=True,
        )
    room = 0.08 * (axis.high - axis.low)
    return Axis(low=axis.low - room, high=axis.high + room, label=axis.label, ticks=axis.ticks)


def _curve(frame: Frame, guesses: Sequence[Guess], places: Sequence[float]) -> Iterable[str]:
    """A line with its band where values are numbers; points with whiskers where they are words."""
    points = list(zip(places, guesses, strict=False))
    if any(isinstance(guess.value, bool | str) for guess in guesses):
        for at, guess in points:
            x, low, high = frame.x(at), frame.y(100 * guess.low), frame.y(100 * guess.high)
            yield path(f"M{x:.1f} {low:.1f}V{high:.1f}", "s0 line")
            yield mark(x, frame.y(100 * guess.gain), 0, hint=_told(guess))
        return
    lower = [(frame.x(at), frame.y(100 * guess.low)) for at, guess in points]
    upper = [(frame.x(at), frame.y(100 * guess.high)) for at, guess in points]
    middle = [(frame.x(at), frame.y(100 * guess.gain)) for at, guess in points]
    if points:
        yield area(lower, upper, 0)
        yield line(middle, 0)
    for (x, y), guess in zip(middle, guesses, strict=True):
        yield mark(x, y, 0, hint=_told(guess))


def _told(guess: Guess) -> str:
    low, high = 100 * guess.low, 100 * guess.high
    return f"{value_text(guess.value)}: {100 * guess.gain:+.1f} % ({low:+.1f} .. {high:+.1f})"


def importance_bars(bars: Sequence[Bar]) -> str:
    """Every parameter's share, each with its interval."""
    told = "; ".join(f"{b.name} {100 * b.share:.0f} %" for b in bars)
    count = max(1, len(bars))
    frame = Frame(
        title="Share of each parameter",
        description=f"share of each parameter in what the search saw change: {told}",
        across=Axis(
            low=0,
            high=100,
            label="share in what the search saw change, %",
            ticks=[Tick(float(at), str(at)) for at in range(0, 101, 20)],
        ),
        up=Axis(
            low=count - 0.5,
            high=-0.5,
            label="",
            ticks=[Tick(float(row), short(b.name, 24)) for row, b in enumerate(bars)],
        ),
        height=128 + _ROW * count,
        left=180,
    )
    body = [shape for row, bar in enumerate(bars) for shape in _bar(frame, row, bar)]
    legend = [Key(name="90 % interval", arm=5, shape="line")]
    return frame.drawn(body, legend)


def _bar(frame: Frame, row: int, bar: Bar) -> Iterable[str]:
    y, x = frame.y(row), frame.clipped_x(100 * bar.share)
    low, high = frame.clipped_x(100 * bar.low), frame.clipped_x(100 * bar.high)
    hint = f"{bar.name}: {100 * bar.share:.0f} % ({100 * bar.low:.0f} .. {100 * bar.high:.0f})"
    width = x - frame.left
    yield path(f"M{frame.left} {y - 7:.1f}h{width:.1f}v14h{-width:.1f}Z", "s0", hint, 0.75)
    yield path(
        f"M{low:.1f} {y:.1f}H{high:.1f}M{low:.1f} {y - 4:.1f}v8M{high:.1f} {y - 4:.1f}v8", "s5 line"
    )
