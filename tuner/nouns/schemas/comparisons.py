"""The report of a comparison, file by file, and the raw data of a job."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tuner.nouns.model import ArmReport, Curve, Phase, Window, about
from tuner.nouns.schemas.base import Answer


@dataclass(frozen=True, kw_only=True)
class ArmAnswer(ArmReport):
    """The figures of one file of a comparison."""

    doubt_sentences: Annotated[tuple[str, ...], about("each of the doubts in a sentence")]


class ReportAnswer(Answer):
    """The figures of a comparison."""

    blocks: int = Field(description="fresh interleaved blocks")
    arms: Sequence[ArmAnswer] = Field(description="one per file, in the order of the request")
    curves: Sequence[Curve] = Field(
        (), description="one per box of a grid; empty where nothing varies"
    )


@dataclass(frozen=True, kw_only=True)
class WindowAnswer(Window):
    """One stretch of load: the raw data of every statistic."""

    block: Annotated[int, about("the block's sequence within the job")]
    phase: Annotated[Phase, about("the phase that the block belongs to")]
    host: Annotated[str | None, about("the host that measured it")]
    trial: Annotated[int, about("the trial, or the file of a comparison, that it measured")]


class WindowList(Answer):
    """The raw data of a job."""

    files: Sequence[str] | None = Field(
        description="names of the compared files, which `trial` of a window counts; "
        "null unless kind is compare"
    )
    windows: Sequence[WindowAnswer] = Field(description="in the order in which they ran")
