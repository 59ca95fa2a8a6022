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

from scipy import special

from tuner.judge import objective
from tuner.judge.analysis.estimating import FEWEST_BLOCKS, detectable, student_quantile
from tuner.nouns import wording
from tuner.nouns.model import SERIES_STEP_S, Calibration, JobSpec, Measurement, Metric, Window

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
        throughput_rps=_median_rate(usable),
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


def _median_rate(blocks: Sequence[Measurement]) -> float:
    """Requests per second over the windows that count: a void one would pull it down."""
    return median(
        window.throughput_rps
        for block in blocks
        for arm in (0, 1)
        for window in objective.of_arm(block.counted, arm)
    )


def _sum(block: Measurement, metric: Metric) -> float:
    levels = [objective.log_level(objective.of_arm(block.counted, arm), metric) for arm in (0, 1)]
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
    measured = [objective.at_equal_speed(block.counted) for block in blocks]
    starts = [objective.of_arm(windows, arm) for windows in measured for arm in (0, 1)]
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


# ---- Whether another host may help a job: its blocks of equal files against those of the job's
# host
#
# A block compares its arms on one host, so blocks of like hosts may be pooled. The same file must
# serve as much there. Its blocks must scatter no more, or by less than the smallest effect of
# interest: a host that is very quiet would refuse all others for noise that hides nothing.

FEWEST_A_A = 3
"""Usable A/A blocks of a host that would help."""

MOST_APART = 0.15
"""Largest relative difference of throughput: like machines differ by less."""

LEVEL = 0.99
"""Level of the test that the noise is not larger."""


def unlike(calibration: Calibration, blocks: Sequence[Measurement], spec: JobSpec) -> str | None:
    """What sets a host apart, by its A/A blocks; None: it is like the host of the calibration."""
    found = [objective.log_ratio(block, spec.objective.metric) for block in blocks]
    ratios = [ratio for ratio in found if ratio is not None]
    if len(ratios) < FEWEST_A_A:
        return f"{len(ratios)} of its {len(blocks)} A/A blocks can be used"
    measured = [block for block, ratio in zip(blocks, found, strict=True) if ratio is not None]
    apart = _median_rate(measured) / calibration.throughput_rps - 1
    if abs(apart) > MOST_APART:
        return f"it serves {wording.percent(apart)} requests with the same file"
    noise = math.sqrt(fmean(ratio**2 for ratio in ratios))
    bound = float(special.fdtri(len(ratios), calibration.blocks, LEVEL))
    if noise > max(calibration.block_sd * math.sqrt(bound), spec.min_effect):
        own = wording.share(calibration.block_sd)
        return f"its blocks scatter by {wording.share(noise)}, those of the job's host by {own}"
    return None


# ---- How often to change arms: a scan of the second-by-second series of calibration windows
#
# Short windows cancel slow drift; but every change costs a discarded head and a pause. The scan
# takes the windows of a block as one series and cuts it into stretches of each length. It estimates
# the scatter of the difference of two neighbours, with the same time for all lengths.

PERIODS_S = (0.5, 1.0, 2.5, 5.0, 10.0)
"""Lengths of one window that are compared."""

SWITCH_S = 0.75
"""What one change of arms costs: 0.5 s of discarded head, 0.25 s until load runs again."""

NEAR = 1.1
"""A scatter within 10 % of the smallest one is as good."""

FEWEST_CONTRASTS = 8
"""Fewest independent differences to estimate a scatter."""

_HEAD_S = 0.5  # of a window's series, which has its head in it; at most a fifth of the run
_HEAD_SHARE = 0.25  # ... which is a quarter of what is left


def alternation_period_s(blocks: Sequence[Measurement]) -> float | None:
    """The shortest of `PERIODS_S` whose scatter is within 10 % of the smallest.

    None if the data are enough for fewer than two lengths.
    """
    joined = [_joined(block.counted) for block in blocks]
    scatter = {period: _scatter(joined, period) for period in PERIODS_S}
    known = {period: value for period, value in scatter.items() if value is not None}
    if len(known) < 2:
        return None
    return next(period for period in known if known[period] <= NEAR * min(known.values()))


def _joined(windows: Sequence[Window]) -> list[float]:
    """Relative deviations of a block's steps from the mean of their own arm, in order of time."""
    arms = {window.arm for window in windows}
    means = {arm: _mean_step(windows, arm) for arm in arms}
    ordered = sorted(windows, key=lambda window: window.index)
    return [
        step / means[window.arm] - 1
        for window in ordered
        if means[window.arm] > 0
        for step in _steps(window)
    ]


def _mean_step(windows: Sequence[Window], arm: int) -> float:
    steps = [step for window in objective.of_arm(windows, arm) for step in _steps(window)]
    return fmean(steps) if steps else 0.0


def _steps(window: Window) -> tuple[int, ...]:
    """The series without its head and without a last step that was cut short."""
    head = math.ceil(min(_HEAD_S, _HEAD_SHARE * window.duration_s) / SERIES_STEP_S)
    whole = int(window.duration_s / SERIES_STEP_S + 1e-9)
    return window.series[head : head + whole]


def _scatter(joined: Sequence[Sequence[float]], period_s: float) -> float | None:
    """Scatter of the difference of two neighbouring stretches, for equal time spent on all.

    Overlapping differences are used, because they scatter less. Only independent ones count.
    """
    length = round(period_s / SERIES_STEP_S)
    if sum(len(series) // (2 * length) for series in joined) < FEWEST_CONTRASTS:
        return None
    squares = [contrast**2 for series in joined for contrast in _contrasts(series, length)]
    return math.sqrt(fmean(squares) * (period_s + SWITCH_S))


def _contrasts(series: Sequence[float], length: int) -> list[float]:
    totals = [0.0]
    for value in series:
        totals.append(totals[-1] + value)
    cuts = range(len(series) - 2 * length + 1)
    return [
        (2 * totals[cut + length] - totals[cut] - totals[cut + 2 * length]) / length for cut in cuts
    ]
