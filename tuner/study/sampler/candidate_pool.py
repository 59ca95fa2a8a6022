"""The candidate pool: the points of a domain to propose, all of them or a sample of many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from tuner.nouns.model import Params, Scalar
from tuner.study.sampler.features import Array, Cube
from tuner.targets.search_space import Dimension, Domain, Key

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
