"""Whether another host may help a job: its blocks of equal files against those of the job's host.

A block compares its arms on one host, so blocks of like hosts may be pooled. The same file must
serve as much there. Its blocks must scatter no more, or by less than the smallest effect of
interest: a host that is very quiet would refuse all others for noise that hides nothing.
"""

import math
from collections.abc import Sequence
from statistics import fmean, median

from scipy import special

from tuner.judge import objective
from tuner.nouns import wording
from tuner.nouns.model import Calibration, JobSpec, Measurement

FEWEST_A_A = 3
"""Usable A/A blocks of a host that would help."""

MOST_APART = 0.15
"""Largest relative difference of throughput: like machines differ by less."""

LEVEL = 0.99
"""Of the test that the noise is not larger."""


def unlike(calibration: Calibration, blocks: Sequence[Measurement], spec: JobSpec) -> str | None:
    """What sets a host apart, by its A/A blocks; None: it is like the host of the calibration."""
    found = [objective.log_ratio(block, spec.objective.metric) for block in blocks]
    ratios = [ratio for ratio in found if ratio is not None]
    if len(ratios) < FEWEST_A_A:
        return f"{len(ratios)} of its {len(blocks)} A/A blocks can be used"
    rates = [window.throughput_rps for block in blocks for window in block.windows]
    apart = median(rates) / calibration.throughput_rps - 1
    if abs(apart) > MOST_APART:
        return f"it serves {wording.percent(apart)} requests with the same file"
    noise = math.sqrt(fmean(ratio**2 for ratio in ratios))
    bound = float(special.fdtri(len(ratios), calibration.blocks, LEVEL))
    if noise > max(calibration.block_sd * math.sqrt(bound), spec.min_effect):
        own = wording.share(calibration.block_sd)
        return f"its blocks scatter by {wording.share(noise)}, those of the job's host by {own}"
    return None
