"""The optimiser of the study, with Optuna and scikit-learn. No other package imports them.

optimiser            answers the study: propose, believe, explain
├── asking           our rows → an Optuna study → draws that are valid and new
├── gp               expected improvement under the model
│   └── feasibility  where configurations run and keep their bounds
├── judging          beliefs of the model about trials of any sampler
│   └── explaining   importances and slices
├── surrogate        the model: scores with their noise → a Gaussian process
│   └── kernel       parameters that add up, and what they do together
├── candidate_pool   the valid points of a domain
└── features         params → coordinates
"""

from tuner.study.sampler.optimiser import TrialOptimiser
