"""Numbers of a benchmark to what may be said of them: how large, how sure, how far to trust it.

    calibrating  equal files against each other: noise, bias, what can be seen in which time
    │  └── alternating  how often to change sides
    comparing    log ratios of fresh blocks → effect and verdict
    doubting     doubts of windows → doubts of a file; starts that differ too much
    groups       two lists of numbers that somebody measured: how they differ
    └── runs         one such list: centre, outliers, how many more
        └── order        whether they move over the order of the runs
    estimating   location and interval of a handful of values

Everything about blocks rests on the block as the unit of replication. No verdict here ever sees a
number that helped to choose the candidate: the caller hands over fresh blocks only.
"""

from tuner.analysis.calibrating import (
    BIAS_LEVEL,
    calibrate,
    is_biased,
    mde_after,
    smallest_bias,
)
from tuner.analysis.comparing import FEWEST_BLOCKS, compare, effect_of
from tuner.analysis.doubting import frequent, unstable_sides
from tuner.analysis.estimating import (
    Estimate,
    detectable,
    estimate,
    hodges_lehmann,
    p_better,
    signed_rank_interval,
    t_interval,
    walsh_averages,
)

__all__ = [
    "BIAS_LEVEL",
    "FEWEST_BLOCKS",
    "Estimate",
    "calibrate",
    "compare",
    "detectable",
    "effect_of",
    "estimate",
    "frequent",
    "hodges_lehmann",
    "is_biased",
    "mde_after",
    "p_better",
    "signed_rank_interval",
    "smallest_bias",
    "t_interval",
    "unstable_sides",
    "walsh_averages",
]
