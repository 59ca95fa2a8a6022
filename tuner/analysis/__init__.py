"""Numbers of a benchmark to what may be said of them: how large, how sure, how far to trust it.

    calibrating  equal files against each other: noise, bias, what can be seen in which time
    │  └── alternating  how often to change arms
    comparing    log ratios of fresh blocks → effect and verdict
    concluding   the looks of a confirmation → its verdict
    doubting     doubts of windows → doubts of a file; starts that differ too much
    factorial    runs with some of several changes each → what every change contributes
    groups       two lists of numbers that somebody measured: how they differ
    └── runs         one such list: centre, outliers, how many more
        └── order        whether they move over the order of the runs
    racing       candidates in the same blocks → who stands where
    sequential   fresh blocks looked at on the way → when to stop, and what may then be said
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
from tuner.analysis.comparing import FEWEST_BLOCKS, compare, effect_of, too_few
from tuner.analysis.concluding import concluded
from tuner.analysis.doubting import frequent, unstable_arms
from tuner.analysis.estimating import (
    Estimate,
    detectable,
    estimate,
    hodges_lehmann,
    p_better,
    signed_rank_interval,
    student_quantile,
    t_interval,
    walsh_averages,
)
from tuner.analysis.factorial import (
    KEEP_EFFECT,
    KEEP_P,
    MOST_FACTORS,
    FactorEstimate,
    Factorial,
    columns,
    design,
    factorial_effects,
    is_kept,
)
from tuner.analysis.racing import standings, survivors
from tuner.analysis.sequential import Confirmation, confirm, looks_of, obrien_fleming

__all__ = [
    "BIAS_LEVEL",
    "FEWEST_BLOCKS",
    "KEEP_EFFECT",
    "KEEP_P",
    "MOST_FACTORS",
    "Confirmation",
    "Estimate",
    "FactorEstimate",
    "Factorial",
    "calibrate",
    "columns",
    "compare",
    "concluded",
    "confirm",
    "design",
    "detectable",
    "effect_of",
    "estimate",
    "factorial_effects",
    "frequent",
    "hodges_lehmann",
    "is_biased",
    "is_kept",
    "looks_of",
    "mde_after",
    "obrien_fleming",
    "p_better",
    "signed_rank_interval",
    "smallest_bias",
    "standings",
    "student_quantile",
    "survivors",
    "t_interval",
    "too_few",
    "unstable_arms",
    "walsh_averages",
]
