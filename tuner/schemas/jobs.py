"""Jobs, their trials and their answers."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from tuner.model import (
    Danger,
    Doubt,
    JobState,
    Limits,
    Objective,
    Origin,
    Phase,
    Scalar,
    Slo,
    Target,
    TrialState,
    Verdict,
    Workload,
)
from tuner.schemas.base import Answer, DiagnosisAnswer, DoubtAnswer, EffectAnswer, ErrorAnswer
from tuner.schemas.evidence import EvidenceAnswer, LookAnswer
from tuner.schemas.hosts import CalibrationAnswer
from tuner.schemas.preflight import PreflightAnswer
from tuner.schemas.windows import WindowAnswer


class BlockProgress(Answer):
    """How much has been measured, and how much is left."""

    blocks_done: int = Field(description="blocks measured, over all phases")
    blocks_left: int = Field(description="blocks still to be measured, as far as can be told")
    measured_s: float = Field(description="seconds of load so far")
    eta_s: float | None = Field(description="seconds to the end; null while the job waits")
    first_window_at: datetime | None = Field(description="when the first window began")


class Progress(BlockProgress):
    """How far a tuning job is."""

    trials_done: int = Field(description="candidates of the search that have a result")
    trials_planned: int = Field(description="candidates that the search will try")


class Incumbent(Answer):
    """The best feasible trial so far: an observation of the search, not yet a verdict."""

    number: int = Field(description="the trial's number; 0 is the user's own file")
    params: Mapping[str, Scalar] = Field(description="its parameters")
    score: float = Field(description="log ratio to the baseline in the same block; more is better")
    ratio: float = Field(description="the same as a factor: 1.12 is 12 % better than the baseline")
    doubts: Sequence[Doubt] = Field(description="reasons not to take the score at face value")


class JobSummary(Answer):
    """A job in a list."""

    id: int = Field(description="the job's number")
    app: str = Field(description="the name under which CI fetches the recommendation")
    pool: str = Field(description="the set of like hosts that measures it")
    state: JobState = Field(description="the last three of these states are final")
    phase: Phase = Field(description="what it is doing, or was doing when it ended")
    verdict: Verdict | None = Field(description="the answer, once there is one")
    created_at: datetime = Field(description="when it was submitted")
    started_at: datetime | None = Field(description="when its first measurement was asked for")
    finished_at: datetime | None = Field(description="when it came to its end")


class JobAnswer(JobSummary):
    """A job, and how far it is."""

    progress: Progress = Field(description="how far it is")
    incumbent: Incumbent | None = Field(description="the best so far; null before the first score")
    calibration: CalibrationAnswer | None = Field(description="what this job can tell apart")
    preflight: PreflightAnswer = Field(description="what its file is like, and what trials lack")
    error: ErrorAnswer | None = Field(description="why it failed")
    queue_position: int | None = Field(description="jobs before it in its pool; null: not queued")


class JobPage(Answer):
    """Some jobs, newest first."""

    jobs: Sequence[JobSummary] = Field(description="the jobs of this page")
    next: int | None = Field(description="give this as `after` for the next page; null at the end")


class TrialAnswer(Answer):
    """One candidate configuration and what came of it."""

    number: int = Field(description="its number within the job; 0 is the user's own file")
    params: Mapping[str, Scalar] = Field(description="values by parameter of the search space")
    origin: Origin = Field(description="who proposed it")
    state: TrialState = Field(description="infeasible is the configuration's fault, failed ours")
    score: float | None = Field(description="log ratio to the baseline in the same block")
    ratio: float | None = Field(description="the same as a factor")
    gains: Mapping[str, float] = Field(
        description="the same as score for every metric of the objective; above 0 is better"
    )
    constraints: Mapping[str, float] = Field(description="excess over each bound; above 0: broken")
    doubts: Sequence[DoubtAnswer] = Field(description="reasons not to take the score at face value")
    blocks: int = Field(description="complete blocks in which it was measured")
    error: ErrorAnswer | None = Field(description="why it has no score")
    diagnosis: DiagnosisAnswer | None = Field(None, description="what limits it; of one trial only")
    windows: Sequence[WindowAnswer] | None = Field(None, description="its raw data, with ?raw=1")


class TrialList(Answer):
    """All trials of a job."""

    trials: Sequence[TrialAnswer] = Field(description="by number")


class LineAnswer(Answer):
    """One option that the recommended file sets otherwise than the user's."""

    option: str = Field(description="in uWSGI's spelling")
    value: str = Field(description="the recommended value")
    baseline_value: str | None = Field(description="the user's value; null where it was not set")
    effect: EffectAnswer | None = Field(description="this line's own share, where it was measured")


class CircumstancesAnswer(Answer):
    """What a job was asked, every default filled in: enough to measure its answer once more."""

    baseline_ini: str = Field(description="the user's own file")
    target: Target = Field(description="what was tuned, and how it is started")
    limits: Limits = Field(description="the box of every container")
    workload: Workload = Field(description="what was sent")
    objective: Objective = Field(description="what was to be improved")
    slo: Slo = Field(description="the bounds that were to be kept")
    allow: Sequence[Danger] = Field(description="what options of the file might do besides serving")
    pool: str = Field(description="the set of like hosts that measured")
    cycles: int = Field(description="windows of each arm in one block")
    window_s: float = Field(description="seconds of load in one window")
    warmup_s: float = Field(description="seconds of load before the first window")
    min_effect: float = Field(description="smallest gain worth a deployment")


class RecommendationAnswer(Answer):
    """The answer to a job: which file to deploy, and why."""

    job: int = Field(description="the job that found it")
    app: str = Field(description="the app that it is for")
    finished_at: datetime | None = Field(description="when it was confirmed")
    verdict: Verdict = Field(description="what fresh data say about the candidate")
    effect: EffectAnswer | None = Field(description="of the objective; null: not measured")
    p_better: float | None = Field(description="probability that the candidate is better at all")
    mde: float | None = Field(description="smallest effect that so many blocks would have shown")
    blocks: int = Field(description="fresh interleaved blocks behind the verdict")
    requests: int = Field(description="that the candidate answered with 2xx in these blocks")
    errors: int = Field(description="requests of the candidate that failed in these blocks")
    side_effects: Sequence[EffectAnswer] = Field(description="on the other metrics")
    broken: Mapping[str, float] = Field(description="bounds not kept, with their excess")
    looks: Sequence[LookAnswer] = Field(description="at the confirmation; the last one decided")
    candidate: int | None = Field(description="the trial that was compared with the baseline")
    params: Mapping[str, Scalar] = Field(description="its parameters")
    lines: Sequence[LineAnswer] = Field(description="what changes in the file")
    reverted: Sequence[LineAnswer] = Field(description="options that did not earn their place")
    diagnosis: DiagnosisAnswer = Field(description="what limits the app")
    reason: str = Field(description="the verdict in a sentence")
    doubts: Sequence[DoubtAnswer] = Field(description="what speaks against the figures")
    calibration: CalibrationAnswer | None = Field(description="what this job could tell apart")
    evidence: EvidenceAnswer = Field(description="how the answer came about")
    circumstances: CircumstancesAnswer = Field(description="what the answer holds for")
    uwsgi_ini: str = Field(description="the file to deploy; the user's own unless `better`")
