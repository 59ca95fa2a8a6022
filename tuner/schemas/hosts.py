"""Pools, their hosts, and what each can tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from tuner.model import Calibration, HostFingerprint, about
from tuner.schemas.base import Answer


@dataclass(frozen=True, kw_only=True)
class CalibrationAnswer(Calibration):
    """The baseline against itself: bias and noise of the host, and the effects it can detect."""

    smallest_bias: Annotated[
        float | None,
        about("smallest relative bias that these blocks can detect; null: too few blocks"),
    ]


class HostAnswer(Answer):
    """A benchmark host."""

    name: str = Field(description="its worker's name")
    live: bool = Field(description="whether its worker reported lately")
    last_seen: datetime = Field(description="when its worker last reported")
    problem: str | None = Field(description="what keeps it from measuring")
    fingerprint: HostFingerprint | None = Field(description="what it is, once it has looked")


class SeesAnswer(Answer):
    """What a comparison of so many minutes can tell apart on a host."""

    minutes: float = Field(description="of measuring, starts included")
    effect: float | None = Field(
        description="smallest relative effect that it would show; null: too short for a verdict"
    )


class CalibrationReport(Answer):
    """The figures of a calibration."""

    calibration: CalibrationAnswer = Field(description="noise and bias of the hosts")
    sees: Sequence[SeesAnswer] = Field(description="smallest detectable effect by minutes")


class CalibratedHostAnswer(HostAnswer):
    """A benchmark host with its last calibration."""

    calibration: CalibrationAnswer | None = Field(description="null: it has not been calibrated")
    calibrated_at: datetime | None = Field(description="when it was")
    calibrated_with: str | None = Field(description="the target app or image of that calibration")
    sees: Sequence[SeesAnswer] = Field(description="what it can tell apart, by minutes")


class PoolHosts(Answer):
    """The hosts of one pool."""

    pool: str = Field(description="what a job names it by")
    hosts: Sequence[CalibratedHostAnswer] = Field(description="its hosts, by name")


class PoolAnswer(Answer):
    """A set of like hosts."""

    name: str = Field(description="what a job names it by")
    hosts: Sequence[HostAnswer] = Field(description="its hosts, by name")


class PoolList(Answer):
    """All pools that a worker ever reported for."""

    pools: Sequence[PoolAnswer] = Field(description="by name")
