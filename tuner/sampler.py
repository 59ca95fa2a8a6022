"""Optuna behind ask and tell; nothing else in this product imports it.

Our rows are the record. The study is rebuilt from them in memory for every proposal (23 ms at 100
trials), so there is nothing of Optuna's to store, to migrate, or to lose.
"""

from collections.abc import Sequence

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState, create_trial

from tuner.model import Params, Scalar
from tuner.search_space import Dimension, Domain
from tuner.study import Past

STARTUP_TRIALS = 5
"""Told trials before the model is used: baseline and heuristics already spread over the space."""

ASKS = 60
"""Draws of each sampler before the space counts as used up."""

_FEASIBILITY = "feasibility"  # Optuna's convention: a constraint above 0 is broken


class OptunaSampler:
    """Tree-structured Parzen estimator, its options spelt out so that defaults cannot drift."""

    def propose(self, domain: Domain, past: Sequence[Past], *, seed: int) -> Params | None:
        """Valid params that no trial of `past` has, or None where there seem to be none.

        Deterministic in (domain, past, seed). A draw that breaks a rule or is taken is told as
        infeasible or as known, so that the next one looks elsewhere.
        """
        distributions = {dimension.name: _distribution(dimension) for dimension in domain.free}
        study = optuna.create_study(direction="maximize", sampler=_tpe(seed))
        study.add_trials([_told(trial, distributions) for trial in past if trial.told])
        taken = [dict(trial.params) for trial in past]
        # On a plateau the model insists on the few points it likes best; chance has no favourites.
        for sampler in (study.sampler, RandomSampler(seed)):
            study.sampler = sampler
            for _ in range(ASKS):
                asked = study.ask(distributions)
                params = domain.settle({**domain.baseline, **asked.params})
                if domain.broken(params):
                    asked.set_constraint(_FEASIBILITY, 1.0)
                    study.tell(asked, _worst(past))
                elif params in taken:
                    study.tell(asked, state=TrialState.FAIL)
                else:
                    return params
        return None


def _tpe(seed: int) -> BaseSampler:
    return TPESampler(
        seed=seed,
        n_startup_trials=STARTUP_TRIALS,
        n_ei_candidates=24,
        multivariate=True,
        constant_liar=True,
    )


def _distribution(dimension: Dimension) -> BaseDistribution:
    if dimension.values:
        return CategoricalDistribution(dimension.values)
    return IntDistribution(dimension.low, dimension.high, log=dimension.log)


def _told(trial: Past, distributions: dict[str, BaseDistribution]) -> FrozenTrial:
    """An earlier trial as Optuna keeps it.

    One that broke is told as a broken constraint with a poor score, never as FAIL: forgotten
    failures brought the sampler back to the cliff twice as often.
    """
    params: dict[str, Scalar] = {name: trial.params[name] for name in distributions}
    if trial.score is None and trial.feasible:
        return create_trial(state=TrialState.RUNNING, params=params, distributions=distributions)
    return create_trial(
        state=TrialState.COMPLETE,
        params=params,
        distributions=distributions,
        value=_BROKEN_SCORE if trial.score is None else trial.score,
        constraints={_FEASIBILITY: 0.0 if trial.feasible else 1.0},
    )


_BROKEN_SCORE = -5.0  # a log ratio: a hundred times slower than the baseline


def _worst(past: Sequence[Past]) -> float:
    return min([trial.score for trial in past if trial.score is not None], default=_BROKEN_SCORE)


optuna.logging.set_verbosity(optuna.logging.WARNING)
