"""When a block is stopped because its candidate cannot win any more.

    best - mean of j cycles  >  2 sd √(1/j + 1/n)

`sd` is that of the log ratio of one cycle, and n the cycles of a whole block: the best candidate
so far has been measured in one at least, and is uncertain by that much. A poor configuration then
costs two cycles rather than all of them, and one that is near the best is measured to the end.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from tuner import objective
from tuner.model import Futility, Metric, Window

DEVIATIONS = 2.0
"""In simulation this saves 30 % of the windows near the best configuration and 60 % far from it,
and the best that is found is as good as without it."""

FEWEST_CYCLES = 2
"""One cycle alone may have met a burst of something else."""


def is_futile(cycles: Sequence[Sequence[Window]], futility: Futility, *, planned: int) -> bool:
    """Whether arm 1 of a block of (baseline, candidate) is too far behind to be measured on.

    `cycles` are the windows of each cycle so far, `planned` the number of cycles of a whole block.
    """
    ratios = [ratio for cycle in cycles if (ratio := _ratio(cycle, futility.metric)) is not None]
    if len(ratios) < FEWEST_CYCLES:
        return False
    behind = futility.best - futility.metric.sign * fmean(ratios)
    return behind > DEVIATIONS * futility.sd * math.sqrt(1 / len(ratios) + 1 / planned)


def _ratio(cycle: Sequence[Window], metric: Metric) -> float | None:
    """log(candidate / baseline) in one cycle; None where a window of either says nothing.

    A ladder has a window of every rung on both arms. The mean of their logs compares rung with
    rung only as long as none is missing.
    """
    if any(window.is_void for window in cycle):
        return None
    theirs, ours = (objective.log_level(objective.usable(cycle, arm), metric) for arm in (0, 1))
    return None if ours is None or theirs is None else ours - theirs
