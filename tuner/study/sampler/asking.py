"""Optuna by ask and tell: its study is rebuilt from our rows for every proposal.

Our rows are the record. Nothing of Optuna's is stored or migrated.
"""

from collections.abc import Mapping, Sequence

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from tuner.nouns.model import Params, Scalar
from tuner.study.advice import Observation
from tuner.targets.search_space import Dimension, Domain, Key

Distributions = Mapping[str, BaseDistribution]
"""What may be drawn, by the name of the parameter."""

PATIENCE = 10
"""Draws of known params after which another block of them is measured."""

_FEASIBILITY = "feasibility"  # Optuna's convention: a constraint above 0 is broken
_BROKEN_SCORE = -5.0  # a log ratio: a hundred times slower than the baseline


def draw(
    domain: Domain,
    observations: Sequence[Observation],
    sampler: BaseSampler,
    *,
    asks: int,
) -> Params | None:
    """Valid new params, or those of a trial that may be repeated.

    A trial is repeated if `PATIENCE` draws gave nothing new. Optuna learns a draw that breaks a
    rule as infeasible and a known draw as failed, so that the next one differs. None if `asks`
    draws gave neither.
    """
    known = {domain.key(trial.params) for trial in observations}
    repeatable = repeatables(domain, observations)
    allowed = dict(_distributions(domain))
    study = _study(domain, observations, sampler)
    idle = 0
    for _ in range(asks):
        asked = study.ask(allowed)
        params = domain.settle({**domain.baseline, **asked.params})
        if domain.broken(params):
            asked.set_constraint(_FEASIBILITY, 1.0)
            study.tell(asked, _worst(observations))
            continue
        drawn = domain.key(params)
        if drawn not in known:
            return params
        idle += 1
        if idle >= PATIENCE and drawn in repeatable:
            return params
        study.tell(asked, state=TrialState.FAIL)
    return None


def repeatables(domain: Domain, observations: Sequence[Observation]) -> dict[Key, Observation]:
    """The trials that may get another block."""
    found = {domain.key(trial.params): trial for trial in observations if _may_repeat(trial)}
    busy = {domain.key(trial.params) for trial in observations if not _may_repeat(trial)}
    return {at: trial for at, trial in found.items() if at not in busy}


def _distributions(domain: Domain) -> Distributions:
    """The free parameters as Optuna draws them."""
    return {dimension.name: _distribution(dimension) for dimension in domain.free}


def _may_repeat(trial: Observation) -> bool:
    return trial.may_repeat and trial.told and trial.feasible and trial.score is not None


def _distribution(dimension: Dimension) -> BaseDistribution:
    if dimension.values:
        return CategoricalDistribution(dimension.values)
    return IntDistribution(dimension.low, dimension.high, log=dimension.log)


def _study(domain: Domain, observations: Sequence[Observation], sampler: BaseSampler) -> Study:
    study = optuna.create_study(direction="maximize", sampler=sampler)
    inside = [trial for trial in observations if trial.told and _is_inside(domain, trial.params)]
    allowed = _distributions(domain)
    study.add_trials([_told(trial, allowed) for trial in inside])
    return study


def _is_inside(domain: Domain, params: Params) -> bool:
    """Whether the domain has these values: the user's file may have others."""
    return all(params[free.name] in free.everything for free in domain.free)


def _told(trial: Observation, allowed: Distributions) -> FrozenTrial:
    """An earlier trial as Optuna keeps it.

    A broken trial becomes a broken constraint with a poor score, never FAIL: Optuna forgets
    failures, and then returned to the cliff twice as often.
    """
    params: dict[str, Scalar] = {name: trial.params[name] for name in allowed}
    if trial.score is None and trial.feasible:
        return create_trial(state=TrialState.RUNNING, params=params, distributions=dict(allowed))
    return create_trial(
        state=TrialState.COMPLETE,
        params=params,
        distributions=dict(allowed),
        value=_BROKEN_SCORE if trial.score is None else trial.score,
        constraints={_FEASIBILITY: 0.0 if trial.feasible else 1.0},
    )


def _worst(observations: Sequence[Observation]) -> float:
    return min(
        [trial.score for trial in observations if trial.score is not None], default=_BROKEN_SCORE
    )


optuna.logging.set_verbosity(optuna.logging.WARNING)
