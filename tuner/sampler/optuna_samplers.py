"""Optuna's own samplers. Every option is written out, so that defaults cannot drift."""

from optuna.samplers import BaseSampler, RandomSampler, TPESampler

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
