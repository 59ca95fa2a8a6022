"""How uncertain a trial's score is, from what the calibration found out about the host."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.nouns.model import Calibration, Measurement

UNKNOWN_SD = 0.05
"""Of a block's log ratio where there is no calibration."""

SMALLEST_SD = 0.002
"""A few A/A blocks that agree by chance must not make a host look perfect."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Standard deviations of log ratios on the host of a job."""

    calibration: Calibration | None

    def of_score(self, blocks: Sequence[Measurement]) -> float:
        """Of the mean over some blocks of (baseline, candidate).

        A block that was cut short has fewer windows, and so more noise, than a whole one.
        """
        variances = [self.of_block(_windows_of_an_arm(block)) ** 2 for block in blocks]
        if not variances:
            return self.of_block(None)
        return math.sqrt(sum(variances)) / len(variances)

    def of_block(self, windows: int | None) -> float:
        """Of one block with `windows` windows of each arm; None: as many as in the calibration."""
        found = self.calibration
        if found is None:
            return UNKNOWN_SD
        if found.start_sd is None or found.window_sd is None or not windows:
            return max(found.block_sd, SMALLEST_SD)
        variance = found.start_sd**2 + found.window_sd**2 / windows
        return max(math.sqrt(2 * variance), SMALLEST_SD)

    @property
    def of_cycle(self) -> float | None:
        """Of one cycle within a block; None where unknown."""
        found = self.calibration
        if found is None or found.window_sd is None:
            return None
        return max(math.sqrt(2) * found.window_sd, SMALLEST_SD)


def _windows_of_an_arm(block: Measurement) -> int:
    arms = {window.arm for window in block.windows}
    return len(block.windows) // len(arms) if arms else 0
