"""Params as points of the unit cube: near points should behave alike.

Numbers that scale by ratio lie on a log scale. A special value (0 for "off", a string, a flag) has
an indicator of its own: 1 thread says nothing about 0 threads.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.nouns.model import Params, Scalar
from tuner.targets.search_space import Dimension, Domain

Array = NDArray[np.float64]

SLOTS = ("processes", "threads")
"""Their product is the concurrency of the file, which often says more than either."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from `low` to `high` on 0..1."""

    low: int
    high: int
    log: bool

    def place(self, number: float) -> float:
        """The place of a number; one from outside lies at the nearer end."""
        within = min(max(number, self.low), self.high)
        if self.log:
            return math.log(within / self.low) / math.log(self.high / self.low)
        return (within - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter: its numbers on a scale, and an indicator for each special value."""

    name: str
    scale: Scale | None
    specials: tuple[Scalar, ...]

    @property
    def width(self) -> int:
        """How many columns it has."""
        return (1 if self.scale else 0) + len(self.specials)

    def columns(self, value: Scalar) -> list[float]:
        """The parameter's share of a point's coordinates."""
        indicators = [1.0 if value == special else 0.0 for special in self.specials]
        if self.scale is None:
            return indicators
        if isinstance(value, str) or value in self.specials:
            return [0.0, *indicators]
        return [self.scale.place(value), *indicators]


@dataclass(frozen=True, slots=True)
class Cube:
    """The free parameters of a domain as coordinates, each from 0 to 1."""

    axes: tuple[Axis, ...]
    slots: Scale | None

    @classmethod
    def of(cls, domain: Domain) -> "Cube":
        """The cube of a domain, with total concurrency if both of its factors are free."""
        axes = tuple(_axis(dimension) for dimension in domain.free)
        scales = [axis.scale for axis in axes if axis.name in SLOTS and axis.scale]
        if len(scales) < len(SLOTS) or any(scale.low < 1 for scale in scales):
            return cls(axes, None)
        low, high = (
            math.prod(ends) for ends in ((s.low for s in scales), (s.high for s in scales))
        )
        return cls(axes, Scale(low, high, log=True))

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns are numbers on a scale; the others are indicators."""
        kinds = [
            kind
            for axis in self.axes
            for kind in (*([True] if axis.scale else []), *(False for _ in axis.specials))
        ]
        return (*kinds, *([True] if self.slots else []))

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each parameter. Those of `SLOTS` act together and are one group."""
        slots: list[int] = []
        found: list[tuple[int, ...]] = []
        first = 0
        for axis in self.axes:
            columns = range(first, first + axis.width)
            first += axis.width
            if axis.name in SLOTS:
                slots += columns
            elif columns:
                found.append(tuple(columns))
        if self.slots is not None:
            slots.append(first)
        return (tuple(slots), *found) if slots else tuple(found)

    def points(self, many: Sequence[Params]) -> Array:
        """Coordinates of shape (len(many), columns)."""
        return np.array([self._point(params) for params in many], dtype=np.float64)

    def _point(self, params: Params) -> list[float]:
        point = [place for axis in self.axes for place in axis.columns(params[axis.name])]
        if self.slots is not None:
            point.append(self.slots.place(math.prod(int(params[name]) for name in SLOTS)))
        return point


def _axis(dimension: Dimension) -> Axis:
    if not dimension.values:
        specials: tuple[Scalar, ...] = (0,) if dimension.low == 0 else ()
        low = 1 if specials else dimension.low
        return Axis(dimension.name, _scale(low, dimension.high, log=dimension.log), specials)
    numbers = [v for v in dimension.values if not isinstance(v, bool | str) and v > 0]
    specials = tuple(value for value in dimension.values if value not in numbers)
    if not numbers and len(specials) == 2:
        specials = specials[1:]  # one indicator tells two values apart
    scale = _scale(min(numbers), max(numbers), log=True) if numbers else None
    return Axis(dimension.name, scale, specials)


def _scale(low: int, high: int, *, log: bool) -> Scale | None:
    return Scale(low, high, log=log and low > 0) if low < high else None
