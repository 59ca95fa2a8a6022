"""Grids of a domain: the configurations that a record measures, and that tests go through."""

import itertools
from collections.abc import Mapping, Sequence

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import Params, Scalar
from tuner.targets.search_space import Dimension, Domain
from tuner.uwsgi.ini import as_text


def grid(domain: Domain, values: Mapping[str, Sequence[str]]) -> tuple[Params, ...]:
    """Every combination of the given values, or of all values of a dimension not named.

    Whole numbers that are not named are taken at powers of two. Rules of the space are kept,
    bounds are not: given values may lie outside. Raises `InvalidInput` for what is no value.
    """
    names = [dimension.name for dimension in domain.dimensions]
    columns = [_column(dimension, values) for dimension in domain.dimensions]
    rows = (dict(zip(names, row, strict=True)) for row in itertools.product(*columns))
    return tuple(domain.valid(rows).values())


def _column(dimension: Dimension, values: Mapping[str, Sequence[str]]) -> list[Scalar]:
    if dimension.name not in values:
        return list(dimension.values) or _powers(dimension)
    texts = {as_text(value): value for value in dimension.values}
    try:
        return [texts[t] if t in texts else int(t) for t in values[dimension.name]]
    except ValueError as error:
        mistake = Mistake(dimension.name, f"one of {', '.join([*texts, 'whole numbers'])}")
        raise InvalidInput([mistake]) from error


def _powers(dimension: Dimension) -> list[Scalar]:
    """The bounds of a whole number, the user's own value, and the powers of two between."""
    powers = {2**n for n in range(31) if dimension.low < 2**n < dimension.high}
    return sorted({dimension.low, dimension.high, int(dimension.users), *powers})
