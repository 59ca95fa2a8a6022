"""Optuna's own samplers, their options spelt out so that defaults cannot drift."""

import warnings
from collections.abc import Mapping

from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, QMCSampler, RandomSampler, TPESampler
from optuna.study import Study

from tuner.model import TrialNumber

STARTUP_TRIALS = 5
"""Told trials before TPE's model is used: baseline and heuristics already spread over the space."""


def tpe(seed: int) -> BaseSampler:
    """Tree-structured Parzen estimator."""
    return TPESampler(
        seed=seed,
        n_startup_trials=STARTUP_TRIALS,
        n_ei_candidates=24,
        multivariate=True,
        constant_liar=True,
    )


def chance(seed: int) -> BaseSampler:
    """Every value equally likely."""
    return RandomSampler(seed)


def sobol(seed: int, number: TrialNumber) -> BaseSampler:
    """The scrambled Sobol sequence from its point `number` on.

    The seeds of a job's trials count up with their numbers, and what is left is the job's own: all
    its trials walk through one sequence, of which the points together fill the space evenly.
    """
    with warnings.catch_warnings():
        # Optuna calls it experimental since 3.0; the seed is all that we rely on.
        warnings.simplefilter("ignore", ExperimentalWarning)
        return _Sobol((seed - number) % 2**32, number)


class _Sobol(QMCSampler):
    """Goes on where the job is: Optuna counts in the study, and ours lives for one proposal."""

    def __init__(self, seed: int, start: int) -> None:
        super().__init__(
            qmc_type="sobol", scramble=True, seed=seed, warn_independent_sampling=False
        )
        self._next = start

    def _find_sample_id(self, study: Study, search_space: Mapping[str, BaseDistribution]) -> int:
        self._next += 1
        return self._next - 1
