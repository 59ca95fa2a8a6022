"""The JSON answers, field by field. Times are ISO 8601 in UTC; units are in the names."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from tuner.model import (
    Bottleneck,
    Doubt,
    FailureCode,
    JobState,
    Limits,
    Metric,
    Origin,
    Phase,
    Scalar,
    TrialState,
    Verdict,
    Workload,
)


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class MistakeAnswer(_Answer):
    """One thing wrong with a request."""

    path: str = Field(description="the field, dotted, as in limits.memory_mb; empty: the whole")
    message: str = Field(description="what is wrong with it")


class Problem(_Answer):
    """Any error, per RFC 9457."""

    type: str = Field(description="names the kind of problem; stable")
    title: str = Field(description="the kind of problem in words")
    status: int = Field(description="the HTTP status")
    detail: str = Field(description="what happened, and what to do about it")
    mistakes: Sequence[MistakeAnswer] | None = Field(None, description="422: everything wrong")
    system: str | None = Field(None, description="503: what is away")


class ErrorAnswer(_Answer):
    """Why a job or a trial ended without a result."""

    code: FailureCode = Field(description="the kind of failure")
    message: str = Field(description="a sentence about it")
    log_tail: str = Field(description="the container's last lines; may be empty")


class DoubtAnswer(_Answer):
    """A reason not to take a figure at face value."""

    code: Doubt = Field(description="the kind of doubt")
    sentence: str = Field(description="what it means")


class Progress(_Answer):
    """How far a job is."""

    trials_done: int = Field(description="candidates of the search that have a result")
    trials_planned: int = Field(description="candidates that the search will try")
    blocks_done: int = Field(description="blocks measured, over all phases")
    blocks_left: int = Field(description="blocks still to be measured, as far as can be told")
    measured_s: float = Field(description="seconds of load so far")
    eta_s: float | None = Field(description="seconds to the end; null while the job waits")
    first_window_at: datetime | None = Field(description="when the first window began")


class Incumbent(_Answer):
    """The best feasible trial so far: an observation of the search, not yet a verdict."""

    number: int = Field(description="the trial's number; 0 is the user's own file")
    params: Mapping[str, Scalar] = Field(description="its parameters")
    score: float = Field(description="log ratio to the baseline in the same block; more is better")
    ratio: float = Field(description="the same as a factor: 1.12 is 12 % better than the baseline")
    doubts: Sequence[Doubt] = Field(description="reasons not to take the score at face value")


class CalibrationAnswer(_Answer):
    """The baseline against itself: what this job can and cannot tell apart."""

    blocks: int = Field(description="A/A blocks measured")
    bias: float = Field(description="mean log ratio of the two equal sides; near 0 on a fair host")
    bias_ci_low: float = Field(description="lower end of the 99.9 % interval of the bias")
    bias_ci_high: float = Field(description="upper end of the 99.9 % interval of the bias")
    block_sd: float = Field(description="standard deviation of a block's log ratio")
    mde: float = Field(description="smallest relative effect that the confirmation will see")
    throughput_rps: float = Field(description="the baseline's own throughput, median of windows")
    resolves_min_effect: bool = Field(description="whether mde is within the asked min_effect")
    doubts: Sequence[Doubt] = Field(description="doubts of its windows")


class JobSummary(_Answer):
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
    error: ErrorAnswer | None = Field(description="why it failed")
    queue_position: int | None = Field(description="jobs before it in its pool; null: not queued")


class JobPage(_Answer):
    """Some jobs, newest first."""

    jobs: Sequence[JobSummary] = Field(description="the jobs of this page")
    next: int | None = Field(description="give this as `after` for the next page; null at the end")


class WindowAnswer(_Answer):
    """One stretch of load with one value per metric: the raw data of every statistic."""

    block: int = Field(description="the block's sequence within the job")
    phase: Phase = Field(description="the phase that the block belongs to")
    host: str | None = Field(description="the host that measured it")
    index: int = Field(description="order within the block, over all sides")
    side: int = Field(description="which side of the block")
    started_at: datetime = Field(description="when the load began")
    duration_s: float = Field(description="seconds of load")
    requests: int = Field(description="answered with 2xx")
    errors: int = Field(description="everything else that was sent")
    errors_by_class: Mapping[str, int] = Field(description="as in http_502, refused, timeout")
    throughput_rps: float = Field(description="2xx per second")
    latency_p50_ms: float | None = Field(description="median latency of successful requests")
    latency_p95_ms: float | None = Field(description="95th percentile of latency")
    latency_p99_ms: float | None = Field(description="99th percentile of latency")
    memory_mb: float | None = Field(description="the target's working set at the end")
    served: int | None = Field(description="requests by uWSGI's own counter")
    respawns: int = Field(description="uWSGI processes replaced meanwhile")
    client_cpu: float = Field(description="share of the load generator's CPUs in use, 0..1")
    target_cpu: float | None = Field(description="share of the target's CPU limit in use, 0..1")
    throttled: float | None = Field(description="share of periods in which the quota ran out")
    busy: float | None = Field(description="share of uWSGI's slots busy, 0..1")
    listen_overflows: int = Field(description="connections dropped at the accept queue")
    time_wait: int = Field(description="sockets in TIME_WAIT at the end")
    doubts: Sequence[Doubt] = Field(description="reasons not to trust this window")


class TrialAnswer(_Answer):
    """One candidate configuration and what came of it."""

    number: int = Field(description="its number within the job; 0 is the user's own file")
    params: Mapping[str, Scalar] = Field(description="values by parameter of the search space")
    origin: Origin = Field(description="who proposed it")
    state: TrialState = Field(description="infeasible is the configuration's fault, failed ours")
    score: float | None = Field(description="log ratio to the baseline in the same block")
    ratio: float | None = Field(description="the same as a factor")
    constraints: Mapping[str, float] = Field(description="excess over each bound; above 0: broken")
    doubts: Sequence[DoubtAnswer] = Field(description="reasons not to take the score at face value")
    blocks: int = Field(description="complete blocks in which it was measured")
    error: ErrorAnswer | None = Field(description="why it has no score")
    windows: Sequence[WindowAnswer] | None = Field(None, description="its raw data, with ?raw=1")


class TrialList(_Answer):
    """All trials of a job."""

    trials: Sequence[TrialAnswer] = Field(description="by number")


class EffectAnswer(_Answer):
    """A relative change against the baseline, with its 95 % interval."""

    metric: Metric = Field(description="what changed")
    estimate: float = Field(description="0.068 is 6.8 % more of the metric")
    ci_low: float = Field(description="lower end of the 95 % interval")
    ci_high: float = Field(description="upper end of the 95 % interval")
    unit: str = Field("relative", description="relative: a share of the baseline's value")


class LineAnswer(_Answer):
    """One option that the recommended file sets otherwise than the user's."""

    option: str = Field(description="in uWSGI's spelling")
    value: str = Field(description="the recommended value")
    baseline_value: str | None = Field(description="the user's value; null where it was not set")
    effect: EffectAnswer | None = Field(description="this line's own share, where it was measured")


class DiagnosisAnswer(_Answer):
    """What limits the app under this workload."""

    bottleneck: Bottleneck = Field(description="the kind of limit")
    sentence: str = Field(description="the same for a person")
    evidence: Mapping[str, float] = Field(description="the figures that say so")


class RecommendationAnswer(_Answer):
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
    candidate: int | None = Field(description="the trial that was compared with the baseline")
    params: Mapping[str, Scalar] = Field(description="its parameters")
    lines: Sequence[LineAnswer] = Field(description="what changes in the file")
    reverted: Sequence[LineAnswer] = Field(description="options that did not earn their place")
    diagnosis: DiagnosisAnswer = Field(description="what limits the app")
    reason: str = Field(description="the verdict in a sentence")
    doubts: Sequence[DoubtAnswer] = Field(description="what speaks against the figures")
    calibration: CalibrationAnswer | None = Field(description="what this job could tell apart")
    uwsgi_ini: str = Field(description="the file to deploy; the user's own unless `better`")


class SpaceSummary(_Answer):
    """A search space in a list."""

    name: str = Field(description="what a job names it by")
    description: str = Field(description="what it is for")
    parameters: Sequence[str] = Field(description="what it varies")


class SpaceList(_Answer):
    """All search spaces of this service."""

    search_spaces: Sequence[SpaceSummary] = Field(description="by name")


class TargetAppAnswer(_Answer):
    """A described target app."""

    name: str = Field(description="what a job names it by")
    description: str = Field(description="what it is")
    thread_safe: bool = Field(description="false: threads stay 1")
    limits: Limits = Field(description="its box, unless a job says otherwise")
    workload: Workload = Field(description="its load, unless a job says otherwise")
    uwsgi_ini: str = Field(description="its own file, the default baseline")


class TargetAppList(_Answer):
    """All target apps of this service."""

    target_apps: Sequence[TargetAppAnswer] = Field(description="by name")


class FingerprintAnswer(_Answer):
    """What figures of two hosts have to share before their raw values may be compared."""

    cpu_model: str = Field(description="as the kernel names it")
    cpus: int = Field(description="online CPUs")
    memory_mb: int = Field(description="RAM")
    kernel: str = Field(description="release")
    cgroup_version: int = Field(description="1 or 2")
    docker_version: str = Field(description="of the engine")


class HostAnswer(_Answer):
    """A benchmark host."""

    name: str = Field(description="its worker's name")
    live: bool = Field(description="whether its worker reported lately")
    last_seen: datetime = Field(description="when its worker last reported")
    problem: str | None = Field(description="what keeps it from measuring")
    fingerprint: FingerprintAnswer | None = Field(description="what it is, once it has looked")


class PoolAnswer(_Answer):
    """A set of like hosts."""

    name: str = Field(description="what a job names it by")
    hosts: Sequence[HostAnswer] = Field(description="its hosts, by name")


class PoolList(_Answer):
    """All pools that a worker ever reported for."""

    pools: Sequence[PoolAnswer] = Field(description="by name")


class Health(_Answer):
    """The process lives, or is ready."""

    status: str = Field(description="always ok: what is not ok is a problem")
