"""The study as a state machine over rows: `intake` makes a job of a request, `decide` its steps."""

from tuner.study.decide import Past, Sampler, decide, decider, derived_seed
from tuner.study.intake import resolve

__all__ = ["Past", "Sampler", "decide", "decider", "derived_seed", "resolve"]
