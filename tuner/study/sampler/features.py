"""Params as points of the unit cube: near points should behave alike.

Numbers that scale by ratio lie on a log scale. A special value (0 for "off", a string, a flag) has
an indicator of its own: 1 thread says nothing about 0 threads.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tuner.nouns.model import Params, Scalar
from tuner.targets.search_space import Dimension, Domain, Key

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


# ---- The candidate pool: the points of a domain to propose, all of them or a sample of many

ENUMERATED = 2000
"""Up to so many combinations, all are candidates."""

DRAWN = 1000
"""Candidates of a larger domain; the neighbours of what looks best are added."""

DRAWS = 5
"""Attempts for each: rules may exclude most of a domain."""

STEPS = (0.1, 0.25)
"""Distance of a neighbour, as a share of the range; the next whole number is one too."""


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """A domain with its valid combinations, as params, keys and coordinates in one order."""

    domain: Domain
    cube: Cube
    points: Mapping[Key, Params]
    coordinates: Array
    is_whole: bool

    @classmethod
    def of(cls, domain: Domain) -> "CandidatePool":
        """The pool of a domain. Equal domains share one, because building it is slow.

        The memory line changes with every trial, so it is applied afterwards.
        """
        unlimited = replace(domain, memory=None)
        pool = _built(_Named(_name(unlimited), unlimited))
        return pool if domain.memory is None else pool._within(domain)

    def _within(self, domain: Domain) -> "CandidatePool":
        """The same without the points that are too large for this domain's memory."""
        kept = {at: p for at, p in self.points.items() if not domain.is_too_large(p)}
        fits = np.array([at in kept for at in self.points], dtype=bool)
        return CandidatePool(domain, self.cube, kept, self.coordinates[fits], self.is_whole)

    def sample(self, count: int) -> list[Params]:
        """`count` valid params at random, or all if there are fewer; always the same."""
        points = list(self.points.values())
        if self.is_whole:
            return points if len(points) <= count else list(_some(self.domain, count).values())
        return points[:count]

    def around(self, centres: Iterable[Params]) -> dict[Key, Params]:
        """The valid neighbours of some params, one value changed, that are not in `points`."""
        moved = (
            {**centre, dimension.name: value}
            for centre in centres
            for dimension in self.domain.free
            for value in _beside(dimension, centre[dimension.name])
        )
        found = self.domain.valid(moved)
        return {at: params for at, params in found.items() if at not in self.points}


def values(dimension: Dimension, most: int) -> list[Scalar]:
    """At most `most` values of a dimension, spread over its scale, both ends among them."""
    if len(dimension.everything) <= most:
        return list(dimension.everything)
    if dimension.values:
        picked = np.linspace(0, len(dimension.values) - 1, most).round().astype(int)
        return [dimension.values[index] for index in picked]
    spread = np.geomspace if dimension.log else np.linspace
    return sorted({round(number) for number in spread(dimension.low, dimension.high, most)})


@dataclass(frozen=True, slots=True)
class _Named:
    """A domain as a cache key: two with the same name are equal."""

    name: str
    domain: Domain = field(compare=False)


def _name(domain: Domain) -> str:
    """Everything that decides which params are valid, as text."""
    names = sorted(domain.names.items())
    return f"{domain.space.model_dump_json()} {domain.dimensions} {names}"


@lru_cache(maxsize=32)
def _built(named: _Named) -> CandidatePool:
    domain = named.domain
    is_whole = domain.size <= ENUMERATED
    points = domain.every_valid() if is_whole else _some(domain, DRAWN)
    cube = Cube.of(domain)
    return CandidatePool(domain, cube, points, cube.points(list(points.values())), is_whole)


def _some(domain: Domain, count: int) -> dict[Key, Params]:
    """Valid params at random, the same for every trial of every job with this domain."""
    rng = np.random.default_rng(0)
    found: dict[Key, Params] = {}
    for places in rng.random((DRAWS * count, len(domain.free))):
        drawn = {d.name: _at(d, place) for d, place in zip(domain.free, places, strict=True)}
        found.update(domain.valid([{**domain.baseline, **drawn}]))
        if len(found) == count:
            break
    return found


def _at(dimension: Dimension, place: float) -> Scalar:
    """The value at a place in 0..1; every value of a linear scale is equally likely."""
    if dimension.values:
        return dimension.values[int(place * len(dimension.values))]
    low, high = dimension.low, dimension.high
    if dimension.log and low > 0:
        return min(int(low * ((high + 1) / low) ** place), high)
    return low + int(place * (high - low + 1))


def _beside(dimension: Dimension, value: Scalar) -> Sequence[Scalar]:
    """The other choices; of a whole number the next ones, and some at a distance."""
    if dimension.values:
        return [other for other in dimension.values if other != value]
    number, low, high = int(value), dimension.low, dimension.high
    found = {number - 1, number + 1}
    for step in STEPS:
        if dimension.log and low > 0:
            factor = (high / low) ** step
            found |= {round(number / factor), round(number * factor)}
        else:
            found |= {number - round(step * (high - low)), number + round(step * (high - low))}
    return sorted(other for other in found if low <= other <= high and other != number)
