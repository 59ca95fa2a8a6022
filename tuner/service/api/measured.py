"""Nouns → answers, of what was measured: windows, reports, calibrations. Pure functions."""

from collections.abc import Iterable

from tuner.judge import analysis
from tuner.nouns.masking import masked
from tuner.nouns.model import Calibration, Doubt, Measurement, Phase, Report, Window, extended
from tuner.nouns.schemas import ArmAnswer, CalibrationAnswer, ReportAnswer, SeesAnswer, WindowAnswer

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
    """A calibration with the smallest bias that its blocks can detect."""
    if found is None:
        return None
    return extended(CalibrationAnswer, found, smallest_bias=analysis.smallest_bias(found))


def sees(found: Calibration | None) -> tuple[SeesAnswer, ...]:
    """What a host can tell apart in a few minutes, and in an hour."""
    if found is None or not found.block_s:
        return ()
    return tuple(
        SeesAnswer(
            minutes=minutes, effect=analysis.mde_after(minutes, found.block_sd, found.block_s)
        )
        for minutes in SEES_AFTER_MINUTES
    )


def report_answer(found: Report) -> ReportAnswer:
    """The figures of a comparison. Steps show lines of files, so secrets in them are masked."""
    arms = [extended(ArmAnswer, arm, doubt_sentences=sentences(arm.doubts)) for arm in found.arms]
    return masked(ReportAnswer.of(found, arms=arms))


def sentences(doubts: Iterable[Doubt]) -> tuple[str, ...]:
    """Each of the doubts in a sentence."""
    return tuple(doubt.sentence for doubt in doubts)
