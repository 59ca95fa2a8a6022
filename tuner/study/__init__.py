"""The study as a state machine over rows.

intake     a request → a job, or every mistake in it
decide     a job's rows → its next step
├── comparing  the course of a comparison
└── planning   measurements to be made next
"""

from tuner.study.decide import Past, Sampler, decide, decider, derived_seed
from tuner.study.intake import resolve

__all__ = ["Past", "Sampler", "decide", "decider", "derived_seed", "resolve"]
