"""The statistics: from numbers of a benchmark to effects, intervals and verdicts.

    calibrating  equal files against each other: noise, bias, smallest detectable effect
    planning     the noise of a host → windows, blocks and runs that a job needs
    fitting      blocks and seconds of a tuning job; what of a budget fits in its minutes
    comparing    fresh blocks → effects, verdicts, standings; doubts of windows → of a file
    └── sequential   looks at a confirmation → when to stop, and the corrected estimate
    runs         a list of measured numbers: centre, outliers, order; two lists: the difference
    estimating   location and interval of a handful of values; effects of changes made at once

The block is the unit of replication. The caller passes fresh blocks only, so that a verdict never
uses a number that helped to choose the candidate.
"""

from tuner.judge.analysis.calibrating import (
    FEWEST_A_A,
    calibrate,
    is_biased,
    mde_after,
    smallest_bias,
    unlike,
)
from tuner.judge.analysis.comparing import (
    as_effect,
    compare,
    effect_of,
    frequent,
    standings,
    survivors,
    unstable_arms,
)
from tuner.judge.analysis.estimating import (
    FEWEST_BLOCKS,
    KEEP_EFFECT,
    KEEP_P,
    MOST_FACTORS,
    Estimate,
    columns,
    design,
    detectable,
    estimate,
    factorial_effects,
    hodges_lehmann,
    p_better,
    signed_rank_interval,
    student_quantile,
    t_interval,
    trimmed_mean,
)
from tuner.judge.analysis.fitting import (
    FEWEST_SEARCHED,
    PAIR,
    Block,
    after_search_s,
    compromise_blocks,
    expected_s,
    fewest_minutes,
    load_s,
    rungs_of_a_block,
    scenes_s,
    tuning_blocks,
    within_minutes,
)
from tuner.judge.analysis.planning import (
    Ablating,
    ablating,
    block_cycles,
    block_sd,
    blocks_to_confirm,
)
from tuner.judge.analysis.sequential import Confirmation, confirm, looks_of, upper_bounds
