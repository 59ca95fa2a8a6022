"""What the ablation tells besides the winner's own changes, for the same runs.

A trial wins a race with some of its values and in spite of others: where it has the user's value,
another one may be worth a line all the same. A factorial design has more columns than a winner has
changes, and a column costs no run. So every parameter that the winner leaves alone is tried at the
other value of which the search expects most, and is kept only if the runs show that it is worth it.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from tuner import analysis
from tuner.model import History, Params, Scalar, Slice, SlicePoint
from tuner.search_space import Dimension, Domain
from tuner.study import searching
from tuner.study.advice import Observation, Optimiser
from tuner.study.factors import TOGETHER, factors_of

Candidate = tuple[float, str, Scalar]
"""The gain that is expected at the winner's other values, a parameter, and its value."""


def widened(history: History, domain: Domain, winner: Params, optimiser: Optimiser) -> Params:
    """The winner with other values where it has the user's, as far as the design has columns.

    None of them breaks a rule of the space beside the others, surely costs as much as a gain must
    be worth, is a choice that failed at least as often as it worked, or a number beyond all that
    worked.
    """
    observations = searching.observations(history)
    _, slices = optimiser.explain(domain, observations, winner)
    wide, changes = dict(winner), len(factors_of(domain, winner))
    if changes > analysis.MOST_FACTORS:
        return winner  # too many to be told apart as it is
    for _, name, value in sorted(
        _candidates(history, domain, winner, slices, observations), reverse=True
    ):
        wider = {**wide, name: value}
        fits = len(factors_of(domain, wider)) <= analysis.columns(changes)
        if fits and dict(domain.settle(wider)) == wider and not domain.broken(wider):
            wide = wider
    return wide


def _candidates(
    history: History,
    domain: Domain,
    winner: Params,
    slices: Sequence[Slice],
    observations: Sequence[Observation],
) -> Iterator[Candidate]:
    """The most promising other value of each parameter that the winner leaves alone."""
    of = {dimension.name: dimension for dimension in domain.free}
    for one in slices:
        dimension = of[one.parameter]
        if one.parameter in TOGETHER or winner[one.parameter] != dimension.users:
            continue
        own = next((point for point in one.points if point.value == dimension.users), None)
        others = [
            p for p in one.points if p is not own and _holds(dimension, p.value, observations)
        ]
        if own is not None and others:
            best = max(others, key=lambda point: point.gain)
            if _may_gain(best, own, history.job.spec.min_effect):
                yield best.gain - own.gain, one.parameter, best.value


def _may_gain(point: SlicePoint, own: SlicePoint, min_effect: float) -> bool:
    """Whether it is not as good as sure to cost `min_effect`: its winner's other values won beside
    the user's one, so that what is believed of this one is a little less than the truth."""
    return point.high > own.gain - math.log1p(min_effect)


def _holds(dimension: Dimension, value: Scalar, observations: Sequence[Observation]) -> bool:
    """Whether most trials with this choice worked, or some with numbers on both sides of it."""
    ended = [trial for trial in observations if trial.score is not None or not trial.feasible]
    if not dimension.values:
        worked = [int(t.params[dimension.name]) for t in ended if t.feasible]
        return bool(worked) and min(worked) <= int(value) <= max(worked)
    count = Counter(t.feasible for t in ended if t.params[dimension.name] == value)
    return count[True] > count[False]
