"""How uncertain a trial's score is, from what the calibration found out about the host."""

import math

from tuner.model import Calibration, Measurement

UNKNOWN_SD = 0.05
"""Of a block's log ratio where no calibration says better."""

SMALLEST_SD = 0.002
"""A handful of A/A blocks that agree by chance must not make a host look perfect."""


def score_sd(calibration: Calibration | None, blocks: list[Measurement]) -> float:
    """Standard deviation of the mean log ratio over some blocks of (baseline, candidate).

    A block that was cut short knows less than a whole one: its windows are fewer.
    """
    variances = [block_sd(calibration, _windows_of_an_arm(block)) ** 2 for block in blocks]
    if not variances:
        return block_sd(calibration, None)
    return math.sqrt(sum(variances)) / len(variances)


def block_sd(calibration: Calibration | None, windows: int | None) -> float:
    """Standard deviation of one block's log ratio with so many windows of each arm."""
    if calibration is None:
        return UNKNOWN_SD
    known = calibration.start_sd is not None and calibration.window_sd is not None
    if not known or not windows:
        return max(calibration.block_sd, SMALLEST_SD)
    start, window = calibration.start_sd or 0.0, calibration.window_sd or 0.0
    return max(math.sqrt(2 * (start**2 + window**2 / windows)), SMALLEST_SD)


def cycle_sd(calibration: Calibration | None) -> float | None:
    """Standard deviation of the log ratio of one cycle within a block; None where unknown."""
    if calibration is None or calibration.window_sd is None:
        return None
    return max(math.sqrt(2) * calibration.window_sd, SMALLEST_SD)


def _windows_of_an_arm(block: Measurement) -> int:
    arms = {window.arm for window in block.windows}
    return len(block.windows) // len(arms) if arms else 0
