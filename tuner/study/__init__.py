"""The study as a state machine over rows.

intake     a request → a job, or every mistake in it
└── mistakes     what is wrong with a job although every part of it is well formed
decide     a job's rows → its next step, by phase:
├── calibrating  the baseline against itself
├── searching    seeds, then what the optimiser proposes
├── racing       the likely best, in the same fresh blocks
├── ablating     which options of the winner earn their place
│   └── widening     other values that the same runs can tell
├── confirming   the file that is left, on fresh data, with looks on the way
├── comparing    a comparison: every given file in every block
└── answering    all of it → the recommendation and its evidence
    ├── advice     what is asked of an optimiser
    ├── noise      how uncertain a score is
    ├── ends       how a job comes to its end
    ├── factors    in what two files differ, and files with some of it
    └── planning   measurements to be made next
"""

from tuner.study.advice import Belief, Observation, Optimiser, Proposal
from tuner.study.decide import decide, decider
from tuner.study.intake import resolve
from tuner.study.planning import derived_seed

__all__ = [
    "Belief",
    "Observation",
    "Optimiser",
    "Proposal",
    "decide",
    "decider",
    "derived_seed",
    "resolve",
]
