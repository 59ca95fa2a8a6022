"""Jobs, their trials and their answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from tuner.nouns.model import (
    AuditEntry,
    ByRequest,
    ChangedLine,
    Check,
    Compromise,
    Danger,
    Diagnosis,
    Doubt,
    Effect,
    Failure,
    FailureCode,
    HostFingerprint,
    JobSummary,
    Limits,
    Link,
    Metric,
    MissedBound,
    Objective,
    Origin,
    PastAnswer,
    Scalar,
    SceneComparison,
    Schedule,
    ServiceUse,
    Since,
    Slo,
    Target,
    TrialState,
    UnderCondition,
    Verdict,
    Workload,
    about,
)
from tuner.nouns.schemas.base import (
    Answer,
    CalibrationAnswer,
    EvidenceAnswer,
    LookAnswer,
    PreflightAnswer,
    ReportAnswer,
    SeesAnswer,
    WindowAnswer,
)


class Progress(Answer):
    """How far a job is."""

    blocks_done: int = Field(description="complete blocks of all phases")
    blocks_left: int = Field(description="blocks that the job may still need, at most")
    measured_s: float = Field(description="seconds of load so far")
    eta_s: float | None = Field(description="seconds to the end; null while the job is queued")
    first_window_at: datetime | None = Field(description="start of the first window")
    trials_done: int | None = Field(
        description="candidates with a result; null unless kind is tune"
    )
    trials_planned: int | None = Field(
        description="candidates that the search will try; null unless kind is tune"
    )


class PhaseSize(Answer):
    """What one phase of a job takes. A phase that may be left out has 0 blocks at least."""

    phase: str = Field(
        description="its name; `scenes or compromise` is the last part of the phase conditions:"
        " the compromise if the answer depends on a condition, else the scenes"
    )
    least_blocks: int = Field(description="blocks that it has in any job that does not fail")
    blocks: int = Field(description="blocks that it has at most, without a second A/A set")
    least_s: float = Field(description="seconds of least_blocks")
    takes_s: float = Field(description="seconds of all its blocks, each arm steady at once")
    longest_s: float = Field(description="seconds of all its blocks if no arm gets steady")


class Size(Answer):
    """What a job takes, as far as its request tells; told before it starts."""

    takes_s: float = Field(description="seconds that it measures on one host; of kind tune at most")
    blocks: int = Field(description="blocks of all phases, at most")
    arms_at_once: int = Field(
        description="arms of the largest block: all, until the memory of a host is known"
    )
    memory_mb: int = Field(description="memory limits of those arms and of their services")
    sentence: str = Field(description="all of it in a sentence")
    phases: Sequence[PhaseSize] = Field(
        (), description="what each phase takes; takes_s and blocks are their sums"
    )


class Incumbent(Answer):
    """The best feasible trial so far: an observation of the search, not yet a verdict."""

    number: int = Field(description="the trial's number; 0 is the user's own file")
    params: Mapping[str, Scalar] = Field(description="its parameters")
    score: float = Field(description="log ratio to the baseline in the same block; more is better")
    ratio: float = Field(description="the same as a factor: 1.12 is 12 % better than the baseline")
    doubts: Sequence[Doubt] = Field(description="reasons to doubt the score")


class JobAnswer(Answer, JobSummary):
    """A job, its progress and what it has found so far."""

    files: Sequence[str] | None = Field(
        description="names of the compared files; null unless kind is compare"
    )
    workload: Workload = Field(description="the load that the job sends")
    metric: Metric = Field(description="verdicts go by this metric")
    size: Size = Field(description="the time and the memory that the job takes")
    progress: Progress = Field(description="how far the job is")
    incumbent: Incumbent | None = Field(
        description="best trial so far; null before the first score and unless kind is tune"
    )
    calibration: CalibrationAnswer | None = Field(
        description="noise and bias of the host; null before calibration and for kind compare"
    )
    sees: Sequence[SeesAnswer] = Field(
        description="smallest detectable effect by minutes; empty without a calibration"
    )
    report: ReportAnswer | None = Field(
        description="figures by file; null until a job of kind compare is done"
    )
    preflight: PreflightAnswer = Field(description="findings in the job's files before the load")
    failure: Failure | None = Field(description="why the job failed")
    because: Sequence[str] = Field(
        (), description="why a schedule submitted it; empty: a person or a program did"
    )
    follows: int | None = Field(
        None, description="the job of the last answer, which a job of a schedule looks at again"
    )
    queue_position: int | None = Field(
        description="jobs of the pool that run or come before this one; null unless it is queued"
    )
    waits_for: str | None = Field(
        description="what keeps each host of the pool from this job; null: nothing, or it ended"
    )
    pruned_at: datetime | None = Field(
        description="when old windows of its search were removed, and the series of all; null: all"
        " are there"
    )


class JobPage(Answer):
    """One page of jobs, newest first."""

    jobs: Sequence[JobSummary] = Field(description="the jobs of this page")
    next: int | None = Field(description="`after` of the next page; null on the last page")


class AuditPage(Answer):
    """One page of changes, newest first."""

    entries: Sequence[AuditEntry] = Field(description="the changes of this page")
    next: int | None = Field(description="`after` of the next page; null on the last page")


class NewLink(Answer, Link):
    """A link that was just made."""

    path: str = Field(description="its address at this service; nothing says it again")


class LinkList(Answer):
    """The links of one job."""

    links: Sequence[Link] = Field(description="the oldest first, also those that have expired")


class ScheduleAnswer(Answer, Schedule):
    """When an app is looked at again."""

    model_config = ConfigDict(extra="ignore")  # a client may be older

    next_at: datetime = Field(description="the next time")


class AppAnswer(Answer):
    """An app that has been tuned or compared, or will be."""

    app: str = Field(description="its name in its jobs")
    newest: JobSummary = Field(description="its newest job of kind tune or compare")
    open_jobs: int = Field(description="jobs that are queued or run")
    answers: Sequence[PastAnswer] = Field(
        description="of kind tune, the newest first: at most 20, in a list of apps 4"
    )
    checks: Sequence[Check] = Field((), description="what checks found where it is deployed")
    schedule: ScheduleAnswer | None = Field(
        None, description="when it is tuned again by itself; null: its target.yaml has no schedule"
    )


class AppPage(Answer):
    """One page of apps."""

    apps: Sequence[AppAnswer] = Field(description="by name")
    next: str | None = Field(description="`after` of the next page; null on the last page")


class TrialAnswer(Answer):
    """One candidate configuration and what came of it."""

    number: int = Field(description="its number within the job; 0 is the user's own file")
    params: Mapping[str, Scalar] = Field(description="values by parameter of the search space")
    origin: Origin = Field(description="who proposed it")
    state: TrialState = Field(
        description="infeasible: because of the configuration; failed: because of the host"
    )
    score: float | None = Field(description="log ratio to the baseline in the same block")
    ratio: float | None = Field(description="the same as a factor")
    gains: Mapping[str, float] = Field(
        description="the same as score for every metric of the objective; above 0 is better"
    )
    constraints: Mapping[str, float] = Field(description="excess over each bound; above 0: broken")
    doubts: Sequence[Doubt] = Field(description="reasons to doubt the score")
    doubt_sentences: Sequence[str] = Field(description="each of the doubts in a sentence")
    blocks: int = Field(description="complete blocks in which it was measured")
    failure: Failure | None = Field(description="why it has no score")
    diagnosis: Diagnosis | None = Field(None, description="what limits it; of one trial only")
    windows: Sequence[WindowAnswer] | None = Field(None, description="its raw data, with ?raw=1")


class TrialList(Answer):
    """All trials of a job."""

    trials: Sequence[TrialAnswer] = Field(description="by number")


class CircumstancesAnswer(Answer):
    """What a job was asked, every default filled in: enough to measure its answer once more."""

    baseline_ini: str = Field(description="the user's own file")
    target: Target = Field(description="what was tuned, and how it is started")
    limits: Limits = Field(description="limits of every container")
    workload: Workload = Field(description="the load that was sent")
    objective: Objective = Field(description="the metrics to improve")
    slo: Slo = Field(description="the bounds to keep")
    own_bounds: Sequence[Metric] = Field(description="metrics that the tuner bounds itself")
    max_slots: int | None = Field(description="most processes x threads of a trial; null: no bound")
    allow: Sequence[Danger] = Field(description="dangers of options that the job allowed")
    pool: str = Field(description="the set of like hosts that measured")
    cycles: int = Field(description="windows of each arm in a block")
    window_s: float = Field(description="seconds of load in one window")
    warmup_s: float = Field(description="seconds of load before the first window")
    min_effect: float = Field(description="smallest gain worth a deployment")


class RecommendationAnswer(Answer):
    """The answer to a job: which file to deploy, and why."""

    job: int = Field(description="the job that found it")
    app: str = Field(description="the name of the app")
    finished_at: datetime | None = Field(description="when it was confirmed")
    verdict: Verdict = Field(description="what fresh data say about the candidate")
    effect: Effect | None = Field(description="of the objective; null: not measured")
    p_better: float | None = Field(description="probability that the candidate is better")
    mde: float | None = Field(description="smallest effect that this number of blocks can detect")
    blocks: int = Field(description="fresh interleaved blocks behind the verdict")
    requests: int = Field(description="2xx answers of the candidate in these blocks")
    errors: int = Field(description="requests of the candidate that failed in these blocks")
    side_effects: Sequence[Effect] = Field(description="on the other metrics")
    missed: Sequence[MissedBound] = Field(description="bounds that the candidate does not keep")
    looks: Sequence[LookAnswer] = Field(description="at the confirmation; the last one decided")
    candidate: int | None = Field(description="the trial that was compared with the baseline")
    params: Mapping[str, Scalar] = Field(description="its parameters")
    lines: Sequence[ChangedLine] = Field(description="what changes in the file and its box")
    reverted: Sequence[ChangedLine] = Field(description="options without a gain of their own")
    diagnosis: Diagnosis = Field(description="what limits the app")
    services: Sequence[ServiceUse] = Field(description="what ran beside the app")
    since: Since | None = Field(
        None, description="what has changed since the last answer; null unless a schedule asked"
    )
    reason: str = Field(description="the verdict in a sentence")
    doubts: Sequence[Doubt] = Field(description="reasons to doubt the figures")
    doubt_sentences: Sequence[str] = Field(description="each of the doubts in a sentence")
    measure_again: str | None = Field(
        None, description="why the answer is not true for production; null: nothing says so"
    )
    calibration: CalibrationAnswer | None = Field(description="bias and noise of the host")
    evidence: EvidenceAnswer = Field(description="how the answer came about")
    circumstances: CircumstancesAnswer = Field(description="what the answer holds for")
    conditions: Sequence[UnderCondition] = Field(
        (), description="the candidate where production is unlike the bench"
    )
    scenes: Sequence[SceneComparison] = Field(
        (), description="both files where something goes wrong"
    )
    offered_ini: str = Field(
        "", description="the candidate's file if it `depends` or is `more_fragile`; else empty"
    )
    compromise: Compromise | None = Field(
        None,
        description="if it `depends`: a file that gains under all conditions; null: none was found",
    )
    uwsgi_ini: str = Field(description="the file to deploy; the user's own unless `better`")


# ---- The report of a tuning job for machines: the answer, its trials in short, where it comes from


class TrialSummary(Answer):
    """One trial in short."""

    number: int = Field(description="its number within the job; 0 is the user's own file")
    origin: Origin = Field(description="who proposed it")
    state: TrialState = Field(
        description="infeasible: because of the configuration; failed: because of the host"
    )
    params: Mapping[str, Scalar] = Field(description="values by parameter of the search space")
    gain: float | None = Field(description="relative to the baseline; more is better; null: none")
    blocks: int = Field(description="blocks of the search that measured it; 0: it has no gain")
    is_feasible: bool = Field(description="whether it ran and kept every bound")
    failure: FailureCode | None = Field(description="why it has no gain")


class TrialsAnswer(Answer):
    """All trials in short."""

    by_state: Mapping[str, int] = Field(description="number of trials by state")
    trials: Sequence[TrialSummary] = Field(description="by number")


@dataclass(frozen=True, kw_only=True)
class ProvenanceAnswer:
    """Where the figures come from. With the circumstances of the answer, enough to do it again."""

    hosts: Annotated[tuple[str, ...], about("the hosts that measured")]
    pool: Annotated[str, about("the set of like hosts that they belong to")]
    fingerprint: Annotated[HostFingerprint | None, about("what the first of them is")]
    uwsgi_version: Annotated[str | None, about("names the target's image on every host")]
    image_digest: Annotated[str | None, about("of the target")]
    target: Annotated[str, about("a target app's name, or an image")]
    sampler: Annotated[str, about("who proposed trials")]
    seed: Annotated[int, about("of the job")]
    blocks: Annotated[int, about("complete ones of all phases")]
    load_s: Annotated[float, about("seconds of load, of all phases")]
    setup_s: Annotated[float, about("seconds of starting and stopping containers")]
    measured_from: Annotated[datetime | None, about("when the first window began")]
    measured_until: Annotated[datetime | None, about("when the last window began")]
    rendered_by: Annotated[str, about("the program that wrote this; it may be a newer one")]


class TuneReport(Answer):
    """The report of a tuning job; the calibration is part of the recommendation."""

    recommendation: RecommendationAnswer = Field(description="the answer with its evidence")
    preflight: PreflightAnswer = Field(
        description="findings in the job's file, and the lines that trials leave out"
    )
    trials: TrialsAnswer = Field(description="all trials")
    by_request: ByRequest = Field(
        ByRequest(), description="fresh blocks of both files, request by request"
    )
    provenance: ProvenanceAnswer = Field(description="the origin of the figures")
