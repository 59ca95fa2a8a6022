"""Benchmark hosts as they last reported themselves."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from tuner.model.answers import Calibration
from tuner.model.measuring import HostFingerprint
from tuner.model.noun import about


@dataclass(frozen=True, kw_only=True)
class BenchmarkHost:
    """A benchmark host as its worker last reported it."""

    name: Annotated[str, about("the name of its worker")]
    pool: Annotated[str, about("the set of like hosts that it belongs to")]
    fingerprint: Annotated[HostFingerprint | None, about("null until the worker has read it")]
    last_seen: Annotated[datetime, about("time of the worker's last report")]
    problem: Annotated[str | None, about("what keeps it from measuring")]
    calibration: Annotated[Calibration | None, about("the last one; null: there is none")] = None
    calibrated_at: Annotated[datetime | None, about("time of that calibration")] = None
    calibrated_with: Annotated[str | None, about("target app or image of that calibration")] = None
