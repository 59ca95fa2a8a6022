"""A/A: the baseline against itself, before anything is compared with it."""

from collections.abc import Sequence

from tuner.judge import analysis
from tuner.nouns import wording
from tuner.nouns.model import (
    BASELINE,
    Doubt,
    Enter,
    Fail,
    Failure,
    FailureCode,
    JobKind,
    Outcome,
    Phase,
    Settle,
    Step,
    Succeed,
    TrialState,
    Window,
)
from tuner.study.state import StudyState

CALIBRATION_SETS = 2
"""A second set of A/A blocks is measured if the first one looks biased or has too few figures."""


def calibrate(state: StudyState) -> Step | None:
    """Measure the blocks of the budget, then say what they tell about the host."""
    job, blocks = state.history.job, state.history.blocks(Phase.CALIBRATE)
    size = job.spec.budget.calibrate_blocks
    if not blocks:
        return state.measure([(BASELINE, BASELINE)] * size)
    broken = next((block.failure for block in blocks if block.failure), None)
    if broken is not None:
        return Fail(failure=broken)
    if any(block.is_open for block in blocks):
        return None
    calibration = analysis.calibrate(
        blocks[-size:],
        metric=job.spec.objective.metric,
        confirm_blocks=state.spec.budget.confirm_blocks,
        min_effect=job.spec.min_effect,
    )
    has_another_set = len(blocks) < CALIBRATION_SETS * size
    if calibration is None:
        windows = [window for block in blocks for window in block.windows]
        if has_another_set and any(window.requests for window in windows):
            return state.measure([(BASELINE, BASELINE)] * size)
        return Fail(failure=_unusable_baseline(windows))
    if analysis.is_biased(calibration):
        if has_another_set:
            return state.measure([(BASELINE, BASELINE)] * size)
        return Fail(failure=_biased(calibration.bias))
    if state.history.baseline.outcome is None:
        outcome = Outcome(state=TrialState.COMPLETE, score=0.0)
        return Settle(number=BASELINE, outcome=outcome)
    if job.spec.kind is JobKind.CALIBRATE:
        return Succeed(calibration=calibration)
    return Enter(phase=Phase.SEARCH, calibration=calibration)


def _unusable_baseline(windows: Sequence[Window]) -> Failure:
    doubts = sorted({doubt for window in windows for doubt in window.doubts if doubt.voids})
    silent = sum(not window.requests for window in windows)
    if silent == len(windows):
        classes = sorted({name for window in windows for name in window.errors_by_class})
        message = f"the baseline answers no request under load: {', '.join(classes) or 'nothing'}"
        return Failure(code=FailureCode.ERRORS_ONLY, message=message)
    unknown = f"{silent} of {len(windows)} have no answer" if silent else "no value for the metric"
    reasons = "; ".join(Doubt(doubt).sentence for doubt in doubts) or unknown
    message = f"the windows of the baseline cannot be used: {reasons}"
    return Failure(code=FailureCode.INFRASTRUCTURE, message=message)


def _biased(bias: float) -> Failure:
    message = (
        f"two equal arms differ by {wording.percent(bias)} on this host, twice: it does not "
        "measure the configuration. Look for another program on one of its CPUs"
    )
    return Failure(code=FailureCode.INFRASTRUCTURE, message=message)
