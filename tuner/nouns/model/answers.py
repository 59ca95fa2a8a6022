"""The answers of a job: effects, verdicts, diagnoses, the recommendation, reports of files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from tuner.nouns.model.base import HighEnd, LowEnd, about
from tuner.nouns.model.conditions import Condition, SceneComparison
from tuner.nouns.model.doubts import Advice, Doubt, measure_again
from tuner.nouns.model.evidence import NO_EVIDENCE, Evidence, Look
from tuner.nouns.model.figures import ServiceFigures
from tuner.nouns.model.limits import Limits, is_sysctl
from tuner.nouns.model.measuring import JobId, TrialNumber
from tuner.nouns.model.objectives import Metric, Params
from tuner.nouns.model.windows import RequestFigures


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A relative change against the baseline, with its 95 % interval."""

    metric: Annotated[Metric, about("the metric that changed")]
    estimate: Annotated[float, about("0.068 is 6.8 % more of the metric")]
    ci_low: Annotated[LowEnd, about("lower end of the 95 % interval; null: unbounded")]
    ci_high: Annotated[HighEnd, about("upper end of the 95 % interval; null: unbounded")]
    unit: Annotated[Literal["relative"], about("relative: a share of the baseline's value")] = (
        "relative"
    )


class Verdict(StrEnum):
    """What fresh data say about a candidate against the baseline."""

    BETTER = "better"
    WORSE = "worse"
    BREAKS_BOUND = "breaks_bound"
    NO_DIFFERENCE = "no_difference"
    INCONCLUSIVE = "inconclusive"
    DEPENDS = "depends"
    MORE_FRAGILE = "more_fragile"


@dataclass(frozen=True, kw_only=True)
class MissedBound:
    """A bound that a candidate does not keep over its fresh blocks."""

    name: Annotated[str, about("a metric, or `respawns`")]
    is_users: Annotated[bool, about("whether the SLO sets it; else it is the tuner's")]
    excess: Annotated[
        float,
        about(
            "above 0: a count of respawns, a share of requests for the error rate, "
            "else the log ratio to the limit"
        ),
    ]
    sentence: Annotated[str, about("which bound, whose it is, and by how much")]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A candidate against the baseline over `blocks` fresh blocks.

    `p_better` is the probability that the candidate is better at all. `mde` is the smallest
    relative effect that this number of blocks can detect (one-sided 5 %, power 80 %).
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


class Sign(StrEnum):
    """What becomes of the sign of a gain under a condition."""

    HOLDS = "holds"  # no loss was seen
    MAY_TURN = "may_turn"  # the estimate is a loss that matters, its interval includes 0
    TURNS = "turns"  # the whole interval is a loss
    UNKNOWN = "unknown"  # it could not be measured


@dataclass(frozen=True, kw_only=True)
class UnderCondition:
    """The candidate against the baseline where production is unlike the bench."""

    condition: Annotated[Condition, about("how production differs")]
    where: Annotated[str, about("the condition in words")]
    effect: Annotated[Effect | None, about("there; null: it could not be measured")]
    blocks: Annotated[int, about("blocks behind it")]
    sign: Annotated[Sign, about("whether the gain stays a gain there")]
    doubts: Annotated[tuple[Doubt, ...], about("doubts of the windows there")] = ()


@dataclass(frozen=True, kw_only=True)
class Compromise:
    """The candidate with the user's own slots: it gains here, and loses under no condition."""

    effect: Annotated[Effect, about("in this bench, against the user's file")]
    blocks: Annotated[int, about("blocks behind it")]
    conditions: Annotated[tuple[UnderCondition, ...], about("where production is unlike the bench")]
    sentence: Annotated[str, about("all of this in a sentence")]
    uwsgi_ini: Annotated[str, about("the file")]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The baseline against itself: bias and noise of the host, and the effects it can detect."""

    blocks: Annotated[int, about("A/A blocks measured")]
    bias: Annotated[float, about("mean log ratio of the two equal arms; near 0 on a fair host")]
    bias_ci_low: Annotated[LowEnd, about("lower end of its 99.9 % interval; null: unbounded")]
    bias_ci_high: Annotated[HighEnd, about("upper end of its 99.9 % interval; null: unbounded")]
    block_sd: Annotated[float, about("standard deviation of a block's log ratio")]
    mde: Annotated[float, about("smallest relative effect that all blocks of its budget detect")]
    throughput_rps: Annotated[float, about("the baseline's own throughput, median of windows")]
    resolves_min_effect: Annotated[bool, about("whether mde is at most the job's min_effect")]
    doubts: Annotated[tuple[Doubt, ...], about("doubts of its windows")] = ()
    start_sd: Annotated[
        float | None, about("standard deviation of log throughput between starts")
    ] = None
    window_sd: Annotated[
        float | None, about("standard deviation of log throughput between windows of one start")
    ] = None
    period_s: Annotated[
        float | None, about("shortest alternation of arms with nearly the least noise, by scan")
    ] = None
    client_cpu: Annotated[
        float | None, about("largest share of the load generator's CPUs in use, 0..1")
    ] = None
    block_s: Annotated[float | None, about("wall time of one block")] = None
    hosts: Annotated[tuple[str, ...], about("hosts that measured it")] = ()


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
    BACKING_SERVICE = "backing_service"
    CONCURRENCY = "concurrency"
    APP_ERRORS = "app_errors"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What limits the app under this workload."""

    bottleneck: Annotated[Bottleneck, about("the kind of limit")]
    sentence: Annotated[str, about("the limit in a sentence")]
    evidence: Annotated[Mapping[str, float], about("the figures that show it")]


@dataclass(frozen=True, kw_only=True)
class ChangedLine:
    """One option whose value differs between the recommended file and the user's.

    Options of one factor, as `processes` and `threads`, share its effect. A kernel setting, such as
    net.ipv4.tcp_syncookies, is no line of the file: it changes the box.
    """

    option: Annotated[str, about("in uWSGI's spelling, or a kernel setting")]
    value: Annotated[str | None, about("the recommended value; null: it comes out of the file")]
    baseline_value: Annotated[str | None, about("the user's value; null: not set")]
    effect: Annotated[
        Effect | None, about("this option's own share; null: not measured separately")
    ] = None
    note: Annotated[str, about("what else it changes, for people")] = ""


def box_of(limits: Limits, lines: Iterable[ChangedLine]) -> Limits:
    """The box that an answer relies on: the job's, with the kernel settings among its lines."""
    return limits.with_sysctls(
        {x.option: x.value for x in lines if x.value and is_sysctl(x.option)}
    )


def notes_of(lines: Iterable[ChangedLine]) -> tuple[str, ...]:
    """What else these changes change, each once."""
    return tuple(dict.fromkeys(line.note for line in lines if line.note))


@dataclass(frozen=True, kw_only=True)
class ServiceUse:
    """A service beside the app under both files: medians over their windows, sums of kills.

    Of what it has written, the most of one block.
    """

    name: Annotated[str, about("of the service")]
    baseline: Annotated[ServiceFigures | None, about("under the user's file; null: not seen")]
    candidate: Annotated[
        ServiceFigures | None, about("under the candidate; null: not seen, or none was compared")
    ]


@dataclass(frozen=True, kw_only=True)
class Since:
    """What has changed since the answer that this job follows, and whether that one still holds."""

    job: Annotated[int, about("the job whose answer this one follows")]
    because: Annotated[tuple[str, ...], about("why the schedule submitted this job")]
    holds: Annotated[
        bool | None,
        about("false: the new file was proven better than the old one; null: not known"),
    ]
    sentence: Annotated[str, about("whether the old file holds, in a sentence")]
    changed: Annotated[
        tuple[str, ...], about("options that differ between both recommended files")
    ] = ()


@dataclass(frozen=True, kw_only=True)
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
    overlay_ini: str  # the changed options alone, for a second --ini; empty: it cannot have them
    doubts: tuple[Doubt, ...] = ()
    evidence: Evidence = NO_EVIDENCE
    services: tuple[ServiceUse, ...] = ()
    since: Since | None = None  # of a job that follows another one
    conditions: tuple[UnderCondition, ...] = ()  # of a candidate that was better
    scenes: tuple[SceneComparison, ...] = ()  # of a candidate that was better
    offered_ini: str = ""  # the candidate's file where it is faster, and not recommended
    compromise: Compromise | None = None  # of a candidate that `depends`

    @property
    def verdict(self) -> Verdict:
        """Short for the comparison's."""
        return self.comparison.verdict

    @property
    def advice(self) -> Advice:
        """What its doubts leave to say of a file that is better. Void windows do not count.

        A doubt of the user's own file that holds back every gain leaves none that is better.
        """
        return Advice.worst(doubt.advice_on_candidate for doubt in self.doubts if not doubt.voids)

    @property
    def measure_again(self) -> str | None:
        """Why it is not true for production; None: nothing says so."""
        return measure_again(self.doubts)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerInBrief:
    """The job with the newest answer for an app, and its verdict.

    `revision` grows with every change of the job: an equal revision is the same answer.
    """

    job: JobId
    revision: int
    verdict: Verdict
    finished_at: datetime
    doubts: tuple[Doubt, ...] = ()

    @property
    def measure_again(self) -> str | None:
        """As of a `Recommendation`."""
        return measure_again(self.doubts)


@dataclass(frozen=True, kw_only=True)
class ByRequest:
    """The confirmation, request by request; empty where the load has one request only."""

    baseline: Annotated[tuple[RequestFigures, ...], about("of the user's file")] = ()
    candidate: Annotated[tuple[RequestFigures, ...], about("of the candidate's file")] = ()
