"""The screening of alternative levels: values that the winner lacks, tried in the ablation's runs.

A trial may win a race in spite of some of its values: where it has the user's value, another one
may still be worth a line. A factorial design has more columns than a winner has changes, and a
column costs no run. So every parameter that the winner leaves alone is tried at the other value
that the search expects most of. The value stays only if the runs show a gain.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from tuner.judge import analysis
from tuner.nouns.model import Params, Scalar, Slice, SlicePoint
from tuner.study.ablation import TOGETHER, factors_of
from tuner.study.advice import Observation
from tuner.study.state import StudyState
from tuner.targets.search_space import Dimension

Level = tuple[float, str, Scalar]
"""The gain that is expected at the winner's other values, a parameter, and its value."""


def screened(state: StudyState) -> Params:
    """The winner with other values where it has the user's, as far as the design has columns.

    A value is left out if it breaks a rule of the space beside the others, if it costs `min_effect`
    almost for certain, if it is a choice that failed at least as often as it worked, or if it is a
    number beyond all that worked.
    """
    domain, winner = state.domain, state.finalist.params
    _, slices = state.optimiser.explain(domain, state.observations, winner)
    wide, changes = dict(winner), len(factors_of(domain, winner))
    if changes > analysis.MOST_FACTORS:
        return winner  # too many changes even without more
    for _, name, value in sorted(_levels(state, winner, slices), reverse=True):
        wider = {**wide, name: value}
        fits = len(factors_of(domain, wider)) <= analysis.columns(changes)
        if fits and dict(domain.settle(wider)) == wider and not domain.broken(wider):
            wide = wider
    return wide


def _levels(state: StudyState, winner: Params, slices: Sequence[Slice]) -> Iterator[Level]:
    """The most promising other value of each parameter that the winner leaves alone."""
    of = {dimension.name: dimension for dimension in state.domain.free}
    for one in slices:
        dimension = of[one.parameter]
        if one.parameter in TOGETHER or winner[one.parameter] != dimension.users:
            continue
        own = next((point for point in one.points if point.value == dimension.users), None)
        others = [
            point
            for point in one.points
            if point is not own and _works(dimension, point.value, state.observations)
        ]
        if own is not None and others:
            best = max(others, key=lambda point: point.gain)
            if _may_gain(best, own, state.spec.min_effect):
                yield best.gain - own.gain, one.parameter, best.value


def _may_gain(point: SlicePoint, own: SlicePoint, min_effect: float) -> bool:
    """Whether the value does not cost `min_effect` almost for certain.

    The winner's other values won beside the user's value, so the belief about this one is a little
    too low.
    """
    return point.high > own.gain - math.log1p(min_effect)


def _works(dimension: Dimension, value: Scalar, observations: Sequence[Observation]) -> bool:
    """Whether most trials with this choice worked, or some with numbers on both sides of it."""
    ended = [trial for trial in observations if trial.score is not None or not trial.feasible]
    if not dimension.values:
        worked = [int(t.params[dimension.name]) for t in ended if t.feasible]
        return bool(worked) and min(worked) <= int(value) <= max(worked)
    count = Counter(t.feasible for t in ended if t.params[dimension.name] == value)
    return count[True] > count[False]
