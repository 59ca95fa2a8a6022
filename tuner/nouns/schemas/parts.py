"""Parts of answers: comparisons, evidence, hosts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tuner.nouns.model import (
    ArmReport,
    BenchmarkHost,
    Calibration,
    Curve,
    Evidence,
    Look,
    Phase,
    Window,
    about,
)
from tuner.nouns.schemas.base import Answer

# ---- The report of a comparison, file by file, and the raw data of a job


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


# ---- The evidence of an answer as it is sent: the nouns of the model with relative gains

UNIT = "relative"


@dataclass(frozen=True, kw_only=True)
class LookAnswer(Look):
    """One look at the confirmation while it ran."""

    unit: Annotated[str, about("of estimate, low and high; more is better")] = UNIT


@dataclass(frozen=True, kw_only=True)
class EvidenceAnswer(Evidence):
    """The evidence of an answer. Empty list: the phase was skipped, or the job is an old one."""

    optimistic_gain_note: Annotated[str, about("why that is no evidence")]
    unit: Annotated[str, about("of gains and effects: a share; more is better")] = UNIT


# ---- Pools, their hosts, and the effects that each host can detect


@dataclass(frozen=True, kw_only=True)
class CalibrationAnswer(Calibration):
    """The baseline against itself: bias and noise of the host, and the effects it can detect."""

    smallest_bias: Annotated[
        float | None,
        about("smallest relative bias that these blocks can detect; null: too few blocks"),
    ]


class SeesAnswer(Answer):
    """The smallest effect that a comparison of this length can detect on a host."""

    minutes: float = Field(description="length of the comparison, starts included")
    effect: float | None = Field(
        description="smallest detectable relative effect; null: too short for a verdict"
    )


class CalibrationReport(Answer):
    """The figures of a calibration."""

    calibration: CalibrationAnswer = Field(description="noise and bias of the hosts")
    sees: Sequence[SeesAnswer] = Field(description="smallest detectable effect by minutes")


@dataclass(frozen=True, kw_only=True)
class HostAnswer(BenchmarkHost):
    """A benchmark host, and the effects that it can detect."""

    calibration: Annotated[CalibrationAnswer | None, about("the last one; null: there is none")]
    live: Annotated[bool, about("whether its worker reported recently")]
    sees: Annotated[tuple[SeesAnswer, ...], about("smallest detectable effect by minutes")]


class PoolAnswer(Answer):
    """A set of like hosts."""

    name: str = Field(description="the name to use in a job")
    hosts: Sequence[HostAnswer] = Field(description="its hosts, by name")


class PoolList(Answer):
    """All pools with a worker that has reported."""

    pools: Sequence[PoolAnswer] = Field(description="by name")
