"""What the study asks of an optimiser: who is asked for a proposal, and who judges."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState, create_trial

from tuner.nouns.model import (
    Importance,
    Params,
    SamplerName,
    Scalar,
    Slice,
    SlicePoint,
    TrialNumber,
)
from tuner.study.advice import Belief, Observation, Proposal
from tuner.study.sampler.features import Array, CandidatePool, values
from tuner.study.sampler.surrogate import Surrogate, fit, one_thread, scored, spread
from tuner.targets.search_space import Dimension, Domain, Key

# ---- Optuna by ask and tell: its study is rebuilt from our rows for every proposal
#
# Our rows are the record. Nothing of Optuna's is stored or migrated.

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


# ---- What the model has learnt: which parameters matter, and the expected gain along each

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


# ---- Beliefs about the trials, and what these say about the parameters

TO_FIT = 3
"""Fewest scores for a model; with fewer, each score is believed by itself."""

TO_EXPLAIN = 4
"""Fewest scores for statements about parameters."""

PRIOR_SD = 0.2
"""Prior standard deviation of a score around the baseline: a log ratio."""


def believe(domain: Domain, observations: Sequence[Observation]) -> Mapping[TrialNumber, Belief]:
    """The belief about every feasible trial with a score, as log ratios to the baseline."""
    trials = [trial for trial in scored(observations) if trial.feasible]
    if not trials or len(scored(observations)) < TO_FIT:
        return {trial.number: _by_itself(trial) for trial in trials}
    with one_thread():
        pool = CandidatePool.of(domain)
        model = fit(pool.cube, observations)
        means, sds = model.at(pool.cube.points([trial.params for trial in trials]))
    scores = model.warp.outward(means)
    sds = sds / model.warp.slope(scores)
    return {
        trial.number: Belief(mean=float(mean), sd=float(sd))
        for trial, mean, sd in zip(trials, scores, sds, strict=True)
    }


def explain(
    domain: Domain, observations: Sequence[Observation], at: Params
) -> tuple[tuple[Importance, ...], tuple[Slice, ...]]:
    """Importances, the largest first, and slices through `at`; none if few trials have scores."""
    if len(scored(observations)) < TO_EXPLAIN:
        return (), ()
    with one_thread():
        pool = CandidatePool.of(domain)
        model = fit(pool.cube, observations)
        return importances(pool, model), slices(pool, model, at)


def _by_itself(trial: Observation) -> Belief:
    """The score drawn towards the baseline, the more so the noisier it is."""
    noise = float(spread([trial])[0]) ** 2
    share = PRIOR_SD**2 / (PRIOR_SD**2 + noise)
    return Belief(mean=share * (trial.score or 0.0), sd=float(np.sqrt(share * noise)))


# ---- What the study asks of an optimiser: who is asked for a proposal, and who judges
#
# The model's modules are imported where they are used: scikit-learn takes a second and a half to
# load, and a worker that only compares files never needs it.

ASKS = 60
"""Draws of each sampler before the space counts as used up."""

TPE_STARTUP_TRIALS = 5
"""Told trials before TPE's model is used: baseline and heuristics already spread over the space."""


class TrialOptimiser:
    """Proposes with the job's sampler; judges with the noise-aware model, for every sampler."""

    def propose(
        self,
        domain: Domain,
        observations: Sequence[Observation],
        *,
        sampler: SamplerName,
        seed: int,
    ) -> Proposal | None:
        """See `tuner.study.advice.Optimiser`."""
        # On a plateau a model insists on its few favourite points. Chance has no favourites.
        by_chance = Source(RandomSampler(seed))
        match sampler:
            case SamplerName.TPE:
                return proposed(domain, observations, [Source(_tpe(seed)), by_chance])
            case SamplerName.GP:
                found = _by_model(domain, observations, seed)
                return found or proposed(domain, observations, [by_chance])
            case _:
                assert_never(sampler)

    def believe(
        self, domain: Domain, observations: Sequence[Observation]
    ) -> Mapping[TrialNumber, Belief]:
        """See `tuner.study.advice.Optimiser`."""

        return believe(domain, observations)

    def explain(
        self, domain: Domain, observations: Sequence[Observation], at: Params
    ) -> tuple[tuple[Importance, ...], tuple[Slice, ...]]:
        """See `tuner.study.advice.Optimiser`."""

        return explain(domain, observations, at)


@dataclass(frozen=True, slots=True)
class Source:
    """A sampler, and how often to ask it."""

    sampler: BaseSampler
    asks: int = ASKS


def proposed(
    domain: Domain, observations: Sequence[Observation], sources: Iterable[Source]
) -> Proposal | None:
    """The first valid draw of these sources; else another block of the best repeatable trial."""
    for source in sources:
        params = draw(domain, observations, source.sampler, asks=source.asks)
        if params is not None:
            return Proposal(params=params)
    again = repeatables(domain, observations).values()
    best = max(again, key=lambda trial: trial.score or 0.0, default=None)
    return Proposal(params=best.params) if best else None


def _by_model(domain: Domain, observations: Sequence[Observation], seed: int) -> Proposal | None:
    from tuner.study.sampler.gp import best_candidate

    found = best_candidate(CandidatePool.of(domain), observations, seed)
    return found if found is not None and not domain.broken(found.params) else None


def _tpe(seed: int) -> BaseSampler:
    """The Tree-structured Parzen estimator. All options are set, so that defaults cannot drift."""
    return TPESampler(
        seed=seed,
        n_startup_trials=TPE_STARTUP_TRIALS,
        n_ei_candidates=24,
        multivariate=True,
        constant_liar=True,
    )
