"""A search space given its meaning for one job: bounds in numbers, what may not be combined.

deriving          a space and a job → the domain
└── domain        what may be proposed, and the file that it means
    └── expressions   the arithmetic of bounds, conditions and rules

A space is written once for every size of box (`tuner.model.spaces`); `derive` evaluates its
expressions against the job's limits, workload and the user's own file. Names that an expression
may use: `cpus`, `memory_mb`, `somaxconn`, `concurrency`, `thread_safe`, `memory_processes` (how
many processes fit into memory), `cheaper` (the user's, else 0), `user` (the user's own value of
the parameter at hand), and in `needs` and rules the parameters themselves (`-` written as `_`).
"""

from tuner.search_space.deriving import derive
from tuner.search_space.domain import USERS_OWN, Dimension, Domain
from tuner.search_space.expressions import Names, evaluate

__all__ = ["USERS_OWN", "Dimension", "Domain", "Names", "derive", "evaluate"]
