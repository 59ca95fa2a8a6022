"""The report of a comparison, file by file, and the raw data of a job."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from tuner.model import Histogram, Metric, Spread, Verdict
from tuner.schemas.base import Answer, DiagnosisAnswer, DoubtAnswer, EffectAnswer, ErrorAnswer
from tuner.schemas.windows import WindowAnswer


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
    latency: Histogram = Field(description="latencies of all windows")
    connect: Spread | None = Field(description="the client's connects, medians over windows")
    proxy_connect: Spread | None = Field(description="nginx's connects, medians over windows")
    over_limit: float | None = Field(description="share not answered within limit_s, 0..1")
    error: ErrorAnswer | None = Field(description="why it was not measured to the end")


class ReportAnswer(Answer):
    """The figures of a comparison."""

    blocks: int = Field(description="fresh interleaved blocks")
    arms: Sequence[ArmAnswer] = Field(description="one per file, in the order of the request")


class WindowList(Answer):
    """The raw data of a job."""

    files: Sequence[str] | None = Field(
        description="names of the compared files, which `trial` of a window counts; "
        "null unless kind is compare"
    )
    windows: Sequence[WindowAnswer] = Field(description="in the order in which they ran")
