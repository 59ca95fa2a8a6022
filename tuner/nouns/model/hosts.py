"""Benchmark hosts as they last reported themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from tuner.nouns.model.answers import Calibration
from tuner.nouns.model.measuring import HOST_IS_STALE_AFTER, HostFingerprint
from tuner.nouns.model.noun import about

IS_DRAINED = "it is drained; `tuner hosts resume` ends that"
HAS_A_JOB = "it measures another job"


@dataclass(frozen=True, kw_only=True)
class BenchmarkHost:
    """A benchmark host as its worker last reported it."""

    name: Annotated[str, about("the name of its worker")]
    pool: Annotated[str, about("the set of like hosts that it belongs to")]
    fingerprint: Annotated[HostFingerprint | None, about("null until the worker has read it")]
    last_seen: Annotated[datetime, about("time of the worker's last report")]
    problem: Annotated[str | None, about("what keeps it from measuring")]
    drained_at: Annotated[datetime | None, about("since then it takes no more work")] = None
    job: Annotated[int | None, about("the job that it measures")] = None
    calibration: Annotated[Calibration | None, about("the last one; null: there is none")] = None
    calibrated_at: Annotated[datetime | None, about("time of that calibration")] = None
    calibrated_with: Annotated[str | None, about("target app or image of that calibration")] = None

    @property
    def hindrance(self) -> str | None:
        """Why it takes no work; None if it does."""
        return self.problem or (IS_DRAINED if self.drained_at else None)


def is_live(host: BenchmarkHost, now: datetime) -> bool:
    """Whether its worker reported lately."""
    return now - host.last_seen <= HOST_IS_STALE_AFTER


def what_is_missing(problems: Mapping[str, str | None]) -> str | None:
    """Why nothing is measured, from the problems of all live hosts by name; None if one can."""
    if not problems:
        return "no worker is live; start one with `tuner worker`"
    known = [f"{name}: {problem}" for name, problem in sorted(problems.items()) if problem]
    return "; ".join(known) if len(known) == len(problems) else None
