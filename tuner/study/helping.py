"""Idle hosts that help a search: each first measures the baseline against itself.

Whether it may help, `tuner.judge.analysis.alike` says by those blocks.
"""

from tuner.judge import analysis
from tuner.nouns.model import History, Measurement, MeasurementState, Phase

A_A_BLOCKS = analysis.FEWEST_A_A
"""Of each host that would help."""

LEAST_LEFT = 4 * A_A_BLOCKS
"""Blocks that the search must still have: a shorter one is over before help pays."""


def newcomer(history: History) -> str | None:
    """An idle host that has not measured the baseline yet, if the search is long enough."""
    left = history.job.spec.budget.trials - len(history.blocks(Phase.SEARCH))
    if history.job.calibration is None or left < LEAST_LEFT:
        return None
    return next((host for host in history.idle_hosts if not _a_a_blocks(history, host)), None)


def helpers(history: History) -> tuple[str, ...]:
    """The idle hosts that were found to be alike."""
    return tuple(host for host in history.idle_hosts if _helps(history, host))


def _helps(history: History, host: str) -> bool:
    calibration, blocks = history.job.calibration, _a_a_blocks(history, host)
    if calibration is None or not blocks or any(block.is_open for block in blocks):
        return False
    return analysis.unlike(calibration, blocks, history.job.spec) is None


def _a_a_blocks(history: History, host: str) -> list[Measurement]:
    blocks = (block for block in history.blocks(Phase.CALIBRATE) if block.host == host)
    return [block for block in blocks if block.state is not MeasurementState.CANCELLED]
