"""Benchmark hosts as they last reported themselves."""

from collections.abc import Mapping
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


def what_is_missing(problems: Mapping[str, str | None]) -> str | None:
    """Why nothing is measured, from the problems of all live hosts by name; None if one can."""
    if not problems:
        return "no worker is live; start one with `tuner worker`"
    known = [f"{name}: {problem}" for name, problem in sorted(problems.items()) if problem]
    return "; ".join(known) if len(known) == len(problems) else None
