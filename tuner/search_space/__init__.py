"""A search space given its meaning for one job: bounds in numbers, what may not be combined.

outlining        a domain as people read it: free, fixed and why, lines, combinations
deriving         a space and a job → the domain; a space that needs what the job has not is refused
├── names        what expressions may refer to, in one job
└── domain       what may be proposed, and the file that it means
    └── expressions   the arithmetic of bounds, conditions and rules

A space is written once for every size of box (`tuner.model.spaces`); `derive` evaluates its
expressions against the job's limits, workload and the user's own file. `NAMES` lists what an
expression may refer to; docs/spaces.md says the same to those who write spaces.
"""

from tuner.search_space.deriving import derive
from tuner.search_space.domain import USERS_OWN, Dimension, Domain
from tuner.search_space.expressions import Names, evaluate
from tuner.search_space.names import NAMES
from tuner.search_space.outlining import Outline, outline

__all__ = [
    "NAMES",
    "USERS_OWN",
    "Dimension",
    "Domain",
    "Names",
    "Outline",
    "derive",
    "evaluate",
    "outline",
]
