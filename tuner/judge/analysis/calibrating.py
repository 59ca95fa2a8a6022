"""Equal files against each other: the smallest detectable effect of a host, and its bias.

A window's log value is taken as level of the block + effect of the start + noise of the window:

    var(window within start)   = window_sd²
    var(log ratio of a block)  = block_sd²  = 2 (start_sd² + window_sd² / windows of an arm)

The spread of the log ratios is taken about 0, the true mean of equal arms. With few blocks that is
much more precise than a spread about their own mean.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, median, stdev

from tuner.judge import objective
from tuner.judge.analysis.alternating import alternation_period_s
from tuner.judge.analysis.estimating import FEWEST_BLOCKS, detectable, student_quantile
from tuner.nouns.model import Calibration, Measurement, Metric, Window

BIAS_LEVEL = 0.999

FEWEST_RATIOS = 2
"""Fewest blocks to estimate a spread."""


def calibrate(
    blocks: Sequence[Measurement], *, metric: Metric, confirm_blocks: int, min_effect: float
) -> Calibration | None:
    """The calibration from blocks of (baseline, baseline).

    None where fewer than `FEWEST_RATIOS` of them have a usable value of the metric on both arms.
    """
    by_block = [(block, objective.log_ratio(block, metric)) for block in blocks]
    usable = [block for block, ratio in by_block if ratio is not None]
    ratios = [ratio for _, ratio in by_block if ratio is not None]
    if len(ratios) < FEWEST_RATIOS:
        return None
    windows = [window for block in blocks for window in block.windows]
    low, high = _bias_interval(ratios, [_sum(block, metric) for block in usable])
    block_sd = math.sqrt(fmean(ratio**2 for ratio in ratios))
    mde = detectable(block_sd, confirm_blocks)
    start_sd, window_sd = _components(usable, metric, block_sd)
    return Calibration(
        blocks=len(ratios),
        bias=fmean(ratios),
        bias_ci_low=low,
        bias_ci_high=high,
        block_sd=block_sd,
        mde=mde,
        throughput_rps=median(window.throughput_rps for window in windows),
        resolves_min_effect=mde <= min_effect,
        doubts=tuple(sorted({doubt for window in windows for doubt in window.doubts})),
        start_sd=start_sd,
        window_sd=window_sd,
        period_s=alternation_period_s(usable),
        client_cpu=max(window.client_cpu for window in windows),
        block_s=_block_s(blocks),
        hosts=tuple(sorted({block.host for block in blocks if block.host is not None})),
    )


def is_biased(calibration: Calibration) -> bool:
    """Whether two equal arms came out different at the 99.9 % level."""
    return not calibration.bias_ci_low <= 0 <= calibration.bias_ci_high


def smallest_bias(calibration: Calibration) -> float | None:
    """The smallest relative bias that these blocks can detect: +0.04 is 4 %.

    None if even a factor of two could stay undetected.
    """
    half = (calibration.bias_ci_high - calibration.bias_ci_low) / 2
    return math.expm1(half) if half < math.log(2) else None


def mde_after(minutes: float, block_sd: float, block_s: float) -> float | None:
    """The smallest effect that a host can detect in `minutes` of blocks.

    None if fewer blocks fit than a verdict needs.
    """
    blocks = int(60 * minutes / block_s)
    return detectable(block_sd, blocks) if blocks >= FEWEST_BLOCKS else None


def _sum(block: Measurement, metric: Metric) -> float:
    levels = [objective.log_level(objective.usable(block.windows, arm), metric) for arm in (0, 1)]
    return sum(level for level in levels if level is not None)


def _bias_interval(ratios: Sequence[float], sums: Sequence[float]) -> tuple[float, float]:
    """The narrower of two intervals for the mean log ratio, together at the 99.9 % level.

    Between equal arms the sum of the two logs has the spread of their difference, plus the drift of
    the host. The second interval pools both spreads. On a quiet host this doubles the degrees of
    freedom, which decide most of the width at 4 blocks. Each interval has half of the error, so
    that choosing between them is fair.
    """
    n, level = len(ratios), 1 - (1 - BIAS_LEVEL) / 2
    own, of_sums = stdev(ratios), stdev(sums)
    pooled = math.sqrt((own**2 + of_sums**2) / 2)
    half = min(
        student_quantile(n - 1, level) * own, student_quantile(2 * n - 2, level) * pooled
    ) / math.sqrt(n)
    return fmean(ratios) - half, fmean(ratios) + half


def _components(
    blocks: Sequence[Measurement], metric: Metric, block_sd: float
) -> tuple[float | None, float | None]:
    """Start-to-start and window-to-window noise of the log metric, by the method of moments.

    Windows are compared within one start and one rung only. None where no start has two windows.
    """
    measured = [objective.at_equal_speed(block.windows) for block in blocks]
    starts = [objective.usable(windows, arm) for windows in measured for arm in (0, 1)]
    groups = [group for start in starts for group in _logs_by_rung(start, metric)]
    degrees = sum(len(group) - 1 for group in groups)
    if degrees == 0:
        return None, None
    squares = sum((value - fmean(group)) ** 2 for group in groups for value in group)
    window_var = squares / degrees
    of_windows = window_var * fmean(1 / len(start) for start in starts)
    start_var = max(0.0, block_sd**2 / 2 - of_windows)
    return math.sqrt(start_var), math.sqrt(window_var)


def _logs_by_rung(windows: Sequence[Window], metric: Metric) -> list[list[float]]:
    found = defaultdict(list)
    for window in windows:
        value = window.value(metric)
        if value is not None and value > 0:
            found[window.connections].append(math.log(value))
    return list(found.values())


def _block_s(blocks: Sequence[Measurement]) -> float | None:
    spent = [b.result.setup_s + b.result.load_s for b in blocks if b.result is not None]
    return fmean(spent) if spent and sum(spent) > 0 else None
