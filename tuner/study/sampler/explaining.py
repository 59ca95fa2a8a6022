"""What the model has learnt: which parameters matter, and the expected gain along each."""

import numpy as np

from tuner.nouns.model import Importance, Params, Scalar, Slice, SlicePoint
from tuner.study.sampler.candidate_pool import CandidatePool, values
from tuner.study.sampler.features import Array
from tuner.study.sampler.surrogate import Surrogate
from tuner.targets.search_space import Dimension

SAMPLE = 200
"""Points over which the variance of the model is taken."""

DRAWS = 200
"""Functions drawn from the model: their differences are its uncertainty."""

GROUPS = 8
"""Groups of a number's values within which its effect counts as constant."""

POINTS = 12
"""Values of a slice at most."""

BAND = 1.645
"""Standard deviations to either side: 90 % lie between."""


def importances(pool: CandidatePool, model: Surrogate) -> tuple[Importance, ...]:
    """Each parameter's share of the variance by its main effect, the largest first.

    The variance is that of functions that fit the data, over the domain and not over the trials. It
    is in the units of the model, where differences between good values weigh more.
    """
    sample = pool.sample(SAMPLE)
    drawn = model.draws(pool.cube.points(sample), DRAWS, seed=0)
    found = [_importance(dimension, sample, drawn) for dimension in pool.domain.free]
    return tuple(sorted(found, key=lambda importance: -importance.share))


def slices(pool: CandidatePool, model: Surrogate, at: Params) -> tuple[Slice, ...]:
    """The expected gain along every free parameter, all others as in `at`."""
    return tuple(_slice(pool, model, dimension, at) for dimension in pool.domain.free)


def _importance(dimension: Dimension, sample: list[Params], drawn: Array) -> Importance:
    column = [params[dimension.name] for params in sample]
    shares = _main_effect(_grouped(dimension, column), drawn)
    low, high = np.quantile(shares, [0.05, 0.95])
    return Importance(
        parameter=dimension.name, share=float(shares.mean()), low=float(low), high=float(high)
    )


def _grouped(dimension: Dimension, column: list[Scalar]) -> Array:
    """The group of each value, as indicators of shape (len(column), groups)."""
    if dimension.values:
        groups = np.array([dimension.values.index(value) for value in column])
    else:
        inner = values(dimension, GROUPS + 1)[1:-1]
        groups = np.searchsorted(np.array(inner), np.array(column), side="right")
    return np.asarray((groups[:, None] == np.unique(groups)).astype(np.float64))


def _main_effect(indicators: Array, drawn: Array) -> Array:
    """Share of the variance between groups, for each function.

    The share by chance is subtracted, as in the adjusted R squared: small groups differ anyway.
    """
    centred = drawn - drawn.mean(axis=1, keepdims=True)
    total = np.maximum((centred**2).sum(axis=1), 1e-12)
    between = ((centred @ indicators) ** 2 / indicators.sum(axis=0)).sum(axis=1)
    count, groups = indicators.shape
    by_chance = (groups - 1) * (total - between) / max(count - groups, 1)
    return np.asarray(np.clip((between - by_chance) / total, 0.0, 1.0))


def _slice(pool: CandidatePool, model: Surrogate, dimension: Dimension, at: Params) -> Slice:
    wanted = values(dimension, POINTS)
    if at[dimension.name] not in wanted:  # a whole number: of choices there are fewer
        wanted = sorted({*values(dimension, POINTS - 1), at[dimension.name]}, key=int)
    settled = [pool.domain.settle({**at, dimension.name: value}) for value in wanted]
    kept = [
        params
        for params, value in zip(settled, wanted, strict=True)
        if params[dimension.name] == value and not pool.domain.broken(params)
    ]
    if not kept:
        return Slice(parameter=dimension.name, points=())
    mean, sd = model.at(pool.cube.points(kept))
    gains = [model.warp.outward(mean + BAND * side * sd) for side in (0, -1, 1)]
    points = (
        SlicePoint(value=params[dimension.name], gain=float(g), low=float(low), high=float(high))
        for params, g, low, high in zip(kept, *gains, strict=True)
    )
    return Slice(parameter=dimension.name, points=tuple(points))
