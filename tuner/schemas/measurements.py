"""Measurements and calibrations: what was asked for besides tuning."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from tuner.model import JobState, Metric, Phase, Verdict, Workload
from tuner.schemas.base import Answer, DiagnosisAnswer, DoubtAnswer, EffectAnswer, ErrorAnswer
from tuner.schemas.hosts import CalibrationAnswer, SeesAnswer
from tuner.schemas.jobs import BlockProgress
from tuner.schemas.preflight import PreflightAnswer
from tuner.schemas.windows import SpreadAnswer, WindowAnswer


class FigureAnswer(Answer):
    """One metric of one file over all blocks."""

    metric: Metric = Field(description="what was measured; the unit is part of the name")
    value: float = Field(description="robust centre of the blocks")
    ci_low: float | None = Field(description="lower end of its 95 % interval; null: unbounded")
    ci_high: float | None = Field(description="upper end of its 95 % interval; null: unbounded")
    concurrency: int | None = Field(description="which rung of a ladder; null: there is but one")


class ArmAnswer(Answer):
    """What came of one file."""

    name: str = Field(description="the file's name in the request")
    figures: Sequence[FigureAnswer] = Field(description="metric by metric")
    effects: Sequence[EffectAnswer] = Field(
        description="against the first file, in the same blocks"
    )
    verdict: Verdict | None = Field(description="by the objective; null for the first file")
    blocks: int = Field(description="blocks with usable windows of it")
    windows: int = Field(description="windows, void ones included")
    requests: int = Field(description="answered as expected")
    errors_by_class: Mapping[str, int] = Field(description="as in http_502, refused, timeout")
    diagnosis: DiagnosisAnswer = Field(description="what limits it")
    doubts: Sequence[DoubtAnswer] = Field(description="what speaks against its figures")
    latency: Mapping[int, int] = Field(
        description="requests of all windows by bucket of their latency, as in a window's histogram"
    )
    connect: SpreadAnswer | None = Field(description="the client's connects, medians over windows")
    proxy_connect: SpreadAnswer | None = Field(description="nginx's connects, medians over windows")
    over_limit: float | None = Field(description="share not answered within limit_s, 0..1")
    error: ErrorAnswer | None = Field(description="why it was not measured to the end")


class ReportAnswer(Answer):
    """The answer of a measurement."""

    blocks: int = Field(description="fresh interleaved blocks behind it")
    arms: Sequence[ArmAnswer] = Field(description="file by file, in the order of the request")


class MeasurementSummary(Answer):
    """A measurement in a list."""

    id: int = Field(description="its number; jobs of all kinds count in one row")
    app: str = Field(description="the app's name")
    pool: str = Field(description="the set of like hosts that measures it")
    files: Sequence[str] = Field(description="the names of the files")
    state: JobState = Field(description="the last three of these states are final")
    phase: Phase = Field(description="what it is doing, or was doing when it ended")
    created_at: datetime = Field(description="when it was submitted")
    started_at: datetime | None = Field(description="when its first block was asked for")
    finished_at: datetime | None = Field(description="when it came to its end")


class MeasurementAnswer(MeasurementSummary):
    """A measurement, how far it is, and its report once it is done."""

    workload: Workload = Field(description="what is sent")
    metric: Metric = Field(description="what verdicts go by")
    progress: BlockProgress = Field(description="how far it is")
    report: ReportAnswer | None = Field(description="the answer; null until it is done")
    preflight: PreflightAnswer = Field(description="what its files are like, and what is left out")
    error: ErrorAnswer | None = Field(description="why it failed")
    queue_position: int | None = Field(description="jobs before it in its pool; null: not queued")


class MeasurementPage(Answer):
    """Some measurements, newest first."""

    measurements: Sequence[MeasurementSummary] = Field(description="those of this page")
    next: int | None = Field(description="give this as `after` for the next page; null at the end")


class WindowList(Answer):
    """The raw data of a measurement."""

    files: Sequence[str] = Field(description="names of the files; a window's `trial` counts them")
    windows: Sequence[WindowAnswer] = Field(description="in the order in which they ran")


class CalibrationSummary(Answer):
    """A calibration in a list."""

    id: int = Field(description="its number; jobs of all kinds count in one row")
    app: str = Field(description="the target's name")
    pool: str = Field(description="the set of like hosts that is calibrated")
    state: JobState = Field(description="the last three of these states are final")
    phase: Phase = Field(description="what it is doing, or was doing when it ended")
    created_at: datetime = Field(description="when it was submitted")
    started_at: datetime | None = Field(description="when its first block was asked for")
    finished_at: datetime | None = Field(description="when it came to its end")


class CalibrationJobAnswer(CalibrationSummary):
    """A calibration of a pool's hosts, how far it is, and what they can see once it is done."""

    progress: BlockProgress = Field(description="how far it is")
    calibration: CalibrationAnswer | None = Field(description="the answer; null until it is done")
    sees: Sequence[SeesAnswer] = Field(description="what such a host can tell apart, by minutes")
    preflight: PreflightAnswer = Field(description="what its file is like, and what is left out")
    error: ErrorAnswer | None = Field(description="why it failed")
    queue_position: int | None = Field(description="jobs before it in its pool; null: not queued")


class CalibrationPage(Answer):
    """Some calibrations, newest first."""

    calibrations: Sequence[CalibrationSummary] = Field(description="those of this page")
    next: int | None = Field(description="give this as `after` for the next page; null at the end")
