"""How often to change arms: a scan of the second-by-second series of calibration windows.

Short windows cancel slow drift; but every change costs a discarded head and a pause. The scan
takes the windows of a block as one series and cuts it into stretches of each length. It estimates
the scatter of the difference of two neighbours, with the same time for all lengths.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from tuner.judge import objective
from tuner.nouns.model import SERIES_STEP_S, Measurement, Window

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
    joined = [_joined(block.windows) for block in blocks]
    scatter = {period: _scatter(joined, period) for period in PERIODS_S}
    known = {period: value for period, value in scatter.items() if value is not None}
    if len(known) < 2:
        return None
    return next(period for period in known if known[period] <= NEAR * min(known.values()))


def _joined(windows: Sequence[Window]) -> list[float]:
    """Relative deviations of a block's steps from the mean of their own arm, in order of time."""
    arms = {window.arm for window in windows}
    means = {arm: _mean_step(windows, arm) for arm in arms}
    ordered = sorted((w for w in windows if not w.is_void), key=lambda window: window.index)
    return [
        step / means[window.arm] - 1
        for window in ordered
        if means[window.arm] > 0
        for step in _steps(window)
    ]


def _mean_step(windows: Sequence[Window], arm: int) -> float:
    steps = [step for window in objective.usable(windows, arm) for step in _steps(window)]
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
