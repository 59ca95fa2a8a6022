"""What the service has done so far and what it has to do, in sums: for monitoring."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tuner.nouns.model.answers import Verdict
from tuner.nouns.model.documents import JobKind
from tuner.nouns.model.doubts import Doubt
from tuner.nouns.model.measuring import MeasurementState
from tuner.nouns.model.studying import JobState, Phase

NO_VERDICT = "none"


class Counted(StrEnum):
    """What is counted for good: a total never falls."""

    JOBS_STARTED = "jobs_started"
    WAITED_S = "waited_s"  # of jobs, from submission to start
    JOBS_ENDED = "jobs_ended"
    BLOCKS = "blocks"  # complete and failed
    MEASURED_S = "measured_s"  # wall time of complete and failed measurements
    LOAD_S = "load_s"  # the part of it in which load was driven
    WINDOWS = "windows"
    DOUBTS = "doubts"  # windows with that doubt
    HOST_FAULTS = "host_faults"  # measurements given back because the host failed


Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """So many of something in a pool, or one more; `labels` are one of `LABELS`."""

    counted: Counted
    pool: str
    value: float = 1.0
    labels: Labels = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenJobs:
    """The jobs of a pool in one state, which is queued or running."""

    pool: str
    state: JobState
    count: int
    oldest_s: float  # since the first of them was submitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """All totals, and the jobs that have not ended."""

    totals: tuple[Total, ...] = ()
    open_jobs: tuple[OpenJobs, ...] = ()


def end_of_job(kind: JobKind, state: JobState, verdict: Verdict | None = None) -> Labels:
    """The labels of a job that has ended."""
    return {"kind": kind, "state": state, "verdict": verdict or NO_VERDICT}


def _ends() -> list[Labels]:
    verdicts = [end_of_job(JobKind.TUNE, JobState.SUCCEEDED, verdict) for verdict in Verdict]
    others = [
        end_of_job(kind, state)
        for kind in JobKind
        for state in JobState
        if state.is_final and (kind, state) != (JobKind.TUNE, JobState.SUCCEEDED)
    ]
    return verdicts + others


_OF_BLOCKS = tuple(p for p in Phase if p not in (Phase.VALIDATE, Phase.PREPARE, Phase.DONE))
_ENDS_OF_BLOCKS = (MeasurementState.COMPLETE, MeasurementState.FAILED)
_ONE: Sequence[Labels] = ({},)

LABELS: Mapping[Counted, Sequence[Labels]] = {
    **dict.fromkeys(Counted, _ONE),
    Counted.JOBS_ENDED: _ends(),
    Counted.BLOCKS: [
        {"phase": phase, "state": state} for phase in _OF_BLOCKS for state in _ENDS_OF_BLOCKS
    ],
    Counted.DOUBTS: [{"doubt": doubt} for doubt in Doubt],
}
"""All labels that a total may have. One that was never counted is 0, and not unknown."""
