"""What a job answers: effects, verdicts, diagnoses, the recommendation, and reports of files."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from tuner.model.documents import Metric
from tuner.model.doubts import Doubt
from tuner.model.evidence import NO_EVIDENCE, Evidence, Look
from tuner.model.measuring import Failure, JobId, TrialNumber
from tuner.model.spaces import Params
from tuner.model.windows import Histogram, Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A relative change and its 95 % interval: +0.068 is 6.8 % more of `metric`."""

    metric: Metric
    estimate: float
    ci_low: float
    ci_high: float


class Verdict(StrEnum):
    """What fresh data say about a candidate against the baseline."""

    BETTER = "better"
    WORSE = "worse"
    BREAKS_BOUND = "breaks_bound"
    NO_DIFFERENCE = "no_difference"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedBound:
    """A bound that a candidate does not keep over its fresh blocks."""

    name: Annotated[str, Field(description="a metric, or `respawns`")]
    is_users: Annotated[bool, Field(description="whether the SLO sets it; else it is the tuner's")]
    excess: Annotated[
        float,
        Field(
            description="above 0: a count of respawns, a share of requests for the error rate, "
            "else the log ratio to the limit"
        ),
    ]
    sentence: Annotated[str, Field(description="which bound, whose it is, and by how much")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A candidate against the baseline over `blocks` fresh blocks.

    `p_better` is the probability that the candidate is better at all; `mde` the smallest relative
    effect that so many blocks of this noise would have shown (one-sided 5 %, power 80 %).
    """

    verdict: Verdict
    effect: Effect | None
    p_better: float | None
    mde: float | None
    blocks: int
    reason: str
    requests: int = 0  # that the candidate answered with 2xx in these blocks
    errors: int = 0  # ... and those that failed
    side_effects: tuple[Effect, ...] = ()
    missed: tuple[MissedBound, ...] = ()
    looks: tuple[Look, ...] = ()  # in order; the last one decided


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The baseline against itself: what this host can tell apart in this job's budget."""

    blocks: int
    bias: float  # mean log ratio of the two equal arms
    bias_ci_low: float
    bias_ci_high: float
    block_sd: float  # standard deviation of a block's log ratio
    mde: float  # smallest relative effect that the confirmation will be able to see
    throughput_rps: float  # the baseline's own, median over the windows
    resolves_min_effect: bool
    doubts: tuple[Doubt, ...] = ()
    start_sd: float | None = None  # of the log of the metric, from one start to another
    window_sd: float | None = None  # ... from one window to the next of the same start
    period_s: float | None = None  # shortest alternation that is near the quietest, by scan
    client_cpu: float | None = None  # share of the load generator's CPUs in use, at most
    block_s: float | None = None  # wall time of one block
    hosts: tuple[str, ...] = ()  # who measured it


class Bottleneck(StrEnum):
    """What limits the target under this workload."""

    CPU_QUOTA = "cpu_quota"
    GIL = "gil"
    IO_WAIT = "io_wait"
    BACKLOG = "backlog"
    MEMORY = "memory"
    ROUTER = "router"
    LOG_SINK = "log_sink"
    LOCK_CONTENTION = "lock_contention"
    LOAD_GENERATOR = "load_generator"
    CONCURRENCY = "concurrency"
    APP_ERRORS = "app_errors"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The bottleneck, a sentence about it, and the figures that say so."""

    bottleneck: Bottleneck
    sentence: str
    evidence: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedLine:
    """One option that the recommended file sets otherwise than the user's.

    `effect` is None where it was not measured apart from the others. Options of one factor, as
    `processes` and `threads`, share its effect.
    """

    option: str
    value: str
    baseline_value: str | None
    effect: Effect | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """The answer to a job: which file to deploy, and why."""

    comparison: Comparison
    candidate: TrialNumber | None  # what was compared; None where nothing came so far
    params: Params
    lines: tuple[ChangedLine, ...]
    reverted: tuple[ChangedLine, ...]
    diagnosis: Diagnosis
    reason: str
    uwsgi_ini: str  # the user's file, patched; unchanged unless the verdict is `better`
    overlay_ini: str  # the changed options alone, for a second --ini
    doubts: tuple[Doubt, ...] = ()
    evidence: Evidence = NO_EVIDENCE

    @property
    def verdict(self) -> Verdict:
        """Short for the comparison's."""
        return self.comparison.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerInBrief:
    """Which job has the newest answer for an app, and how it came out.

    `revision` grows with every change of the job: with it, who has the answer needs no other.
    """

    job: JobId
    revision: int
    verdict: Verdict
    finished_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One metric of one file over all blocks: robust centre and 95 % interval.

    One block alone has no interval: it does not say how the next start would differ.
    `concurrency` tells the rungs of a ladder apart; None where there is but one.
    """

    metric: Metric
    value: float
    ci_low: float | None
    ci_high: float | None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmReport:
    """What came of one file of a comparison.

    `effects` are against the first file, over the same blocks; empty for that file itself.
    """

    name: str
    figures: tuple[Figure, ...]
    effects: tuple[Effect, ...]
    verdict: Verdict | None
    blocks: int
    windows: int
    requests: int
    errors_by_class: Mapping[str, int]
    diagnosis: Diagnosis
    doubts: tuple[Doubt, ...]
    latency: Histogram
    connect: Spread | None = None  # medians over the windows
    proxy_connect: Spread | None = None
    over_limit: float | None = None  # share of all requests not answered within the limit, 0..1
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The answer of a comparison: what was measured, file by file, the first being the baseline."""

    arms: tuple[ArmReport, ...]
    blocks: int
