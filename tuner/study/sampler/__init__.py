"""The optimiser of the study, with Optuna and scikit-learn. No other package imports them.

optimiser            answers the study: propose, believe, explain
├── gp               expected improvement where configurations run and keep their bounds
├── surrogate        the model: scores with their noise → a Gaussian process with its kernel
└── features         params → coordinates; the valid points of a domain
"""

from tuner.study.sampler.optimiser import TrialOptimiser
