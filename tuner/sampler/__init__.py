"""Optuna and scikit-learn behind what the study asks; nothing else in this product imports them.

optimiser            answers the study: propose, believe, explain
├── asking           our rows → an Optuna study → draws that are valid and new
├── optuna_samplers  TPE, chance
├── gp               expected improvement under the model, as a sampler of Optuna's
│   └── feasibility  where configurations run and keep their bounds
├── judging          what the model believes of trials, whoever proposed them
│   └── explaining   importances and slices
├── surrogate        scores with their noise → a Gaussian process, the model
│   └── kernel       parameters that add up, and what they do together
├── pool           the valid points of a domain
└── features         params → coordinates
"""

from tuner.sampler.optimiser import TrialOptimiser

__all__ = ["TrialOptimiser"]
