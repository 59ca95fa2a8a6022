"""Nouns → answers, of what was measured: windows, reports, calibrations. Pure functions."""

import math
from collections.abc import Sequence
from dataclasses import asdict

from tuner import analysis, wording
from tuner.model import (
    ArmReport,
    Calibration,
    Diagnosis,
    Doubt,
    Effect,
    Failure,
    Measurement,
    Phase,
    Report,
    Window,
    extended,
)
from tuner.schemas import (
    ArmAnswer,
    CalibrationAnswer,
    DiagnosisAnswer,
    DoubtAnswer,
    EffectAnswer,
    ErrorAnswer,
    FigureAnswer,
    ReportAnswer,
    SeesAnswer,
    WindowAnswer,
)

SEES_AFTER_MINUTES = (5.0, 20.0, 60.0)


def window_answer(block: Measurement, window: Window) -> WindowAnswer:
    """One window, raw."""
    return extended(
        WindowAnswer,
        window,
        block=block.sequence,
        phase=Phase(block.phase),
        host=block.host,
        trial=block.arms[window.arm],
    )


def calibration_answer(found: Calibration | None) -> CalibrationAnswer | None:
    """A calibration; of few blocks the interval of its bias has no ends, or tells nothing."""
    if found is None:
        return None
    ends = {"bias_ci_low": found.bias_ci_low, "bias_ci_high": found.bias_ci_high}
    known = {name: end if math.isfinite(end) else None for name, end in ends.items()}
    return CalibrationAnswer(**asdict(found) | known, smallest_bias=analysis.smallest_bias(found))


def sees(found: Calibration | None) -> list[SeesAnswer]:
    """What a host can tell apart in a few minutes, and in an hour."""
    if found is None or not found.block_s:
        return []
    return [
        SeesAnswer(
            minutes=minutes, effect=analysis.mde_after(minutes, found.block_sd, found.block_s)
        )
        for minutes in SEES_AFTER_MINUTES
    ]


def error_answer(failure: Failure | None) -> ErrorAnswer | None:
    """Why something has no result."""
    if failure is None:
        return None
    return ErrorAnswer(code=failure.code, message=failure.message, log_tail=failure.log_tail)


def doubt_answers(doubts: Sequence[Doubt]) -> list[DoubtAnswer]:
    """Doubts with their sentences."""
    return [DoubtAnswer(code=doubt, sentence=doubt.sentence) for doubt in doubts]


def effect_answer(effect: Effect) -> EffectAnswer:
    """A relative change; an interval of few blocks may have no ends."""
    ends = {"ci_low": wording.bounded(effect.ci_low), "ci_high": wording.bounded(effect.ci_high)}
    return EffectAnswer(**asdict(effect) | ends)


def diagnosis_answer(found: Diagnosis) -> DiagnosisAnswer:
    """A bottleneck."""
    return DiagnosisAnswer(**asdict(found))


def report_answer(found: Report) -> ReportAnswer:
    """The figures of a comparison."""
    return ReportAnswer(blocks=found.blocks, arms=[_arm(arm) for arm in found.arms])


def _arm(arm: ArmReport) -> ArmAnswer:
    return ArmAnswer(
        name=arm.name,
        figures=[FigureAnswer(**asdict(figure)) for figure in arm.figures],
        effects=[effect_answer(effect) for effect in arm.effects],
        verdict=arm.verdict,
        blocks=arm.blocks,
        windows=arm.windows,
        requests=arm.requests,
        errors_by_class=arm.errors_by_class,
        diagnosis=diagnosis_answer(arm.diagnosis),
        doubts=doubt_answers(arm.doubts),
        latency=arm.latency,
        connect=arm.connect,
        proxy_connect=arm.proxy_connect,
        over_limit=arm.over_limit,
        error=error_answer(arm.failure),
    )
