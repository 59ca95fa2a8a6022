"""A figure of several arms over the seconds of one window each."""

from collections.abc import Mapping, Sequence

from tuner.nouns.model import SERIES_STEP_S
from tuner.show.charts.frame import Axis, Frame, number
from tuner.show.charts.naming import MARGIN, End, names_beside, room_for
from tuner.show.charts.svg import line

_HEIGHT = 260  # pixels: there are several of these charts


def seconds_chart(title: str, unit: str, arms: Mapping[str, Sequence[float]]) -> str:
    """A line for each arm that has values: one value for each 0.25 s since the load began.

    It stands in the middle of its step. All are in `unit`, and none is below 0.
    """
    steps = max(map(len, arms.values()), default=0)
    largest = max((max(values) for values in arms.values() if values), default=0.0)
    frame = Frame(
        title=title,
        description=f"{unit}, at most: {_described(arms)}",
        across=Axis.even(0, max(1, steps) * SERIES_STEP_S, "seconds since the load began", 8),
        up=Axis.even(0, 1.08 * (largest or 1.0), unit, 5),
        height=max(_HEIGHT, room_for(len(arms))),
        margin=MARGIN,
    )
    body: list[str] = []
    ends: list[End] = []
    for arm, (name, values) in enumerate(arms.items()):
        points = [
            (frame.x((step + 0.5) * SERIES_STEP_S), frame.y(value))
            for step, value in enumerate(values)
        ]
        if points:
            body.append(line(points, arm))
            ends.append(End(points[-1], arm, name))
    return frame.drawn(body + names_beside(frame, ends), [])


def _described(arms: Mapping[str, Sequence[float]]) -> str:
    """The largest value of each arm in words, for readers who cannot see the chart."""
    shown = (f"{name} {number(max(values)) if values else 'none'}" for name, values in arms.items())
    return "; ".join(shown)
