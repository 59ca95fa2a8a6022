"""Pools, their hosts, and the effects that each host can detect."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tuner.nouns.model import BenchmarkHost, Calibration, about
from tuner.nouns.schemas.base import Answer


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
