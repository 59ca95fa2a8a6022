"""The points of a domain that may be proposed: all of them, or a sample where they are many."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from tuner.model import Params, Scalar
from tuner.sampler.features import Array, Cube
from tuner.search_space import Dimension, Domain

ENUMERATED = 2000
"""Combinations up to which all are candidates."""

DRAWN = 1000
"""Candidates of a larger domain, to which come the neighbours of what looks best."""

DRAWS = 5
"""Attempts for each: rules may leave little of a domain."""

STEPS = (0.1, 0.25)
"""How far a neighbour lies, as a share of the range; the next whole number is one too."""

Key = tuple[Scalar, ...]
"""The values of a domain's dimensions in its own order: what tells params apart."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A domain with its valid combinations, as params, keys and coordinates in one order."""

    domain: Domain
    cube: Cube
    points: Mapping[Key, Params]
    coordinates: Array
    is_whole: bool

    @classmethod
    def of(cls, domain: Domain) -> "Ground":
        """The ground of a domain; equal domains share one, for to lay it out takes long.

        What is known of the memory changes with every trial, so that is seen to afterwards.
        """
        unlimited = replace(domain, memory=None)
        ground = _laid_out(_Named(_name(unlimited), unlimited))
        return ground if domain.memory is None else ground._within(domain)

    def _within(self, domain: Domain) -> "Ground":
        """The same without what this domain knows to be too large."""
        kept = {at: p for at, p in self.points.items() if not domain.is_too_large(p)}
        fits = np.array([at in kept for at in self.points], dtype=bool)
        return Ground(domain, self.cube, kept, self.coordinates[fits], self.is_whole)

    def key(self, params: Params) -> Key:
        """What tells these params from others."""
        return key(self.domain, params)

    def sample(self, count: int) -> list[Params]:
        """So many valid params at random, fewer where there are not so many; always the same."""
        points = list(self.points.values())
        if self.is_whole:
            return points if len(points) <= count else list(_some(self.domain, count).values())
        return points[:count]

    def around(self, centres: Iterable[Params]) -> dict[Key, Params]:
        """The valid neighbours of some params that are not among `points`: one value differs."""
        moved = (
            {**centre, dimension.name: value}
            for centre in centres
            for dimension in self.domain.free
            for value in _beside(dimension, centre[dimension.name])
        )
        found = valid(self.domain, moved)
        return {at: params for at, params in found if at not in self.points}


def key(domain: Domain, params: Params) -> Key:
    """What tells these params from others of the domain."""
    return tuple(params[dimension.name] for dimension in domain.dimensions)


def valid(domain: Domain, many: Iterable[Params]) -> Iterator[tuple[Key, Params]]:
    """Those that break no rule, settled, with their keys."""
    for params in many:
        settled = domain.settle(params)
        if not domain.broken(settled):
            yield key(domain, settled), settled


def values(dimension: Dimension, most: int) -> list[Scalar]:
    """At most `most` values of a dimension, spread over its scale, both ends among them."""
    everything = dimension.values or range(dimension.low, dimension.high + 1)
    if len(everything) <= most:
        return list(everything)
    if dimension.values:
        picked = np.linspace(0, len(everything) - 1, most).round().astype(int)
        return [dimension.values[index] for index in picked]
    spread = np.geomspace if dimension.log else np.linspace
    return sorted({round(number) for number in spread(dimension.low, dimension.high, most)})


@dataclass(frozen=True, slots=True)
class _Named:
    """A domain that can be looked up: two of the same name are equal."""

    name: str
    domain: Domain = field(compare=False)


def _name(domain: Domain) -> str:
    """Everything that says which params are valid, as text."""
    names = sorted(domain.names.items())
    return f"{domain.space.model_dump_json()} {domain.dimensions} {names}"


@lru_cache(maxsize=32)
def _laid_out(named: _Named) -> Ground:
    domain = named.domain
    sizes = [_size(dimension) for dimension in domain.free]
    is_whole = math.prod(sizes) <= ENUMERATED
    points = dict(valid(domain, _all(domain))) if is_whole else _some(domain, DRAWN)
    cube = Cube.of(domain)
    return Ground(domain, cube, points, cube.points(list(points.values())), is_whole)


def _size(dimension: Dimension) -> int:
    return len(dimension.values) or dimension.high - dimension.low + 1


def _all(domain: Domain) -> Iterator[Params]:
    columns = [values(dimension, ENUMERATED) for dimension in domain.free]
    names = [dimension.name for dimension in domain.free]
    for combination in itertools.product(*columns):
        yield {**domain.baseline, **dict(zip(names, combination, strict=True))}


def _some(domain: Domain, count: int) -> dict[Key, Params]:
    """Valid params at random, the same for every trial of every job with this domain."""
    rng = np.random.default_rng(0)
    found: dict[Key, Params] = {}
    for places in rng.random((DRAWS * count, len(domain.free))):
        drawn = {d.name: _at(d, place) for d, place in zip(domain.free, places, strict=True)}
        found.update(valid(domain, [{**domain.baseline, **drawn}]))
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
