"""The chart of a capacity: latency over the rate, with the limit as a line."""

from collections.abc import Mapping, Sequence

from tuner.nouns import wording
from tuner.nouns.model import CapacityLimit, CapacityPoint
from tuner.show.charts.comparing import MARGIN, End, names_beside, room_for
from tuner.show.charts.frame import HEIGHT, Axis, Frame, log_ticks
from tuner.show.charts.svg import line, mark

Points = Sequence[CapacityPoint]


def capacity_chart(limit: CapacityLimit, arms: Mapping[str, Points]) -> str:
    """The bounded percentile of each file's probes over their rates. Needs one point at least."""
    found = {name: _of(limit, points) for name, points in arms.items()}
    every = [point for points in found.values() for point in points]
    times = [limit.latency_ms, *(ms for _, ms in every)]
    low, high = min(times) / 1.3, max(times) * 1.3
    label = f"{wording.METRICS[limit.metric]}, ms"
    frame = Frame(
        title=f"{label} over the rate",
        description=f"{label}; the limit is {limit.latency_ms:g} ms",
        across=Axis.even(0, 1.08 * max(rate for rate, _ in every), "requests per second"),
        up=Axis(
            low=low, high=high, label=f"{label} (log)", ticks=log_ticks(low, high), is_log=True
        ),
        height=max(HEIGHT, room_for(len(arms))),
        margin=MARGIN,
    )
    body, ends = [frame.level(limit.latency_ms)], []
    for arm, (name, points) in enumerate(found.items()):
        places = [(frame.x(rate), frame.y(ms)) for rate, ms in points]
        if not places:
            continue
        body.append(line(places, arm))
        for (x, y), (rate, ms) in zip(places, points, strict=True):
            hint = f"{name}: {wording.figure(ms)} ms at {wording.figure(rate)} requests/s"
            body.append(mark(x, y, arm, hint=hint))
        ends.append(End(places[-1], arm, name))
    return frame.drawn(body + names_beside(frame, ends), [])


def _of(limit: CapacityLimit, points: Points) -> list[tuple[float, float]]:
    known = ((point.rate_rps, getattr(point, limit.metric.value)) for point in points)
    return [(rate, ms) for rate, ms in known if ms]
