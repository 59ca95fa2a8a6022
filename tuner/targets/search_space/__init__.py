"""A search space, evaluated for one job: bounds in numbers, and forbidden combinations.

outlining        a domain for people: free and fixed parameters, lines, combinations
deriving         a space and a job → the domain, or every mistake; the names of expressions
└── domain       the values that may be proposed, and the file that they mean
    └── expressions   the arithmetic of bounds, conditions and rules

One space (`tuner.nouns.model.objectives`) serves every size of box. `derive` evaluates its
expressions with the job's limits, workload and the user's own file. `NAMES` lists the names that an
expression may use; docs/spaces.md explains them.
"""

from tuner.targets.search_space.deriving import NAMES, derive
from tuner.targets.search_space.domain import USERS_OWN, Dimension, Domain, Key
from tuner.targets.search_space.expressions import Names, evaluate
from tuner.targets.search_space.outlining import Outline, outline
