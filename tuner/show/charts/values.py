"""The values of one parameter, and their places on an axis."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tuner.nouns import wording
from tuner.nouns.model import Scalar, Trial
from tuner.show.charts.frame import Axis, Tick

_LOG_FROM = 8
"""An axis is logarithmic from this ratio of its largest to its smallest number."""

_TICK_ROOM = 0.045
"""Share of an axis that a line of small text takes."""


@dataclass(frozen=True, slots=True)
class ValueAxis:
    """The axis of one parameter: numbers by size, words one after the other. True is not 1."""

    axis: Axis
    places: Mapping[tuple[type, Scalar], float]

    @classmethod
    def of(cls, values: Sequence[Scalar], wanted: int = 7) -> "ValueAxis":
        """An axis on which all of these different values have their place."""
        is_number = all(_is_number(value) for value in values)
        places = [float(value) if is_number else float(n) for n, value in enumerate(values)]
        low, high = min(places), max(places)
        if low == high:
            low, high = low - 1, high + 1
        marked = list(zip(places, values, strict=True))
        if is_number and len(marked) > wanted:
            step = (len(marked) - 1) / (wanted - 1)
            marked = [marked[round(n * step)] for n in range(wanted)]
        ticks = [Tick(place, wording.value(value)) for place, value in marked]
        is_log = is_number and low > 0 and high / low >= _LOG_FROM
        keys = [(type(value), value) for value in values]
        axis = Axis(low=low, high=high, label="", ticks=ticks, is_log=is_log)
        return cls(axis, dict(zip(keys, places, strict=True)))

    def place(self, value: Scalar | None) -> float | None:
        """Where a value lies; None for one that is not on the axis."""
        return self.places.get((type(value), value)) if value is not None else None

    def share(self, value: Scalar) -> float:
        """How far along the axis a value lies, 0..1."""
        return self.axis.share(self.places[type(value), value])

    @property
    def readable_ticks(self) -> Iterable[tuple[str, float]]:
        """Labels with their shares: those far enough from the one before, and the last one."""
        *others, last = [(tick.label, self.axis.share(tick.at)) for tick in self.axis.ticks]
        before = -math.inf
        for label, share in others:
            if share - before >= _TICK_ROOM and last[1] - share >= _TICK_ROOM:
                yield label, share
                before = share
        yield last


def distinct(trials: Iterable[Trial], name: str) -> list[Scalar]:
    """Each value once, a flag apart from a number; numbers in order, words as they came."""
    found = {(type(v), v): v for t in trials if (v := t.params.get(name)) is not None}
    values = list(found.values())
    return sorted(values, key=float) if all(_is_number(value) for value in values) else values


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
