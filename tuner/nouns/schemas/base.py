"""The base of all answers, problems and health; names, lint, hosts, comparisons, evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from tuner.nouns.model import (
    ArmReport,
    BenchmarkHost,
    Calibration,
    Curve,
    Document,
    Evidence,
    LeftOut,
    Limits,
    Look,
    Phase,
    PreflightFinding,
    Window,
    Workload,
    about,
)

# ---- The base of all answers, problems and health

IniForm = Literal["patched", "overlay", "command"]
SysctlForm = Literal["plain", "compose", "kubernetes"]
ReportForm = Literal["html", "md", "json", "csv"]
Require = Literal["better"]


class Answer(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def of(cls, *nouns: object, **more: Any) -> Self:
        """An answer with the fields that the nouns have under the same names, and with `more`.

        Where several nouns have a field, the last one counts.
        """
        names = cls.model_fields
        found = {name: getattr(own, name) for own in nouns for name in names if hasattr(own, name)}
        return cls(**found | more)


class MistakeAnswer(Answer):
    """One thing wrong with a request."""

    path: str = Field(description="the field, dotted, as in limits.memory_mb; empty: the whole")
    message: str = Field(description="what is wrong with it")


class Problem(Answer):
    """Any error, per RFC 9457."""

    type: str = Field(description="names the kind of problem; stable")
    title: str = Field(description="the kind of problem in words")
    status: int = Field(description="the HTTP status")
    detail: str = Field(description="what happened, and what to do about it")
    mistakes: Sequence[MistakeAnswer] | None = Field(None, description="422: everything wrong")
    system: str | None = Field(None, description="503: what is away")


class Health(Answer):
    """The process lives, or is ready."""

    status: str = Field(description="always ok: what is not ok is a problem")


# ---- Names that a request may use: search spaces and target apps


class SpaceSummary(Answer):
    """A search space in a list."""

    name: str = Field(description="the name to use in a job")
    description: str = Field(description="what it is for")
    parameters: Sequence[str] = Field(description="the parameters that it varies")


class SpaceList(Answer):
    """All search spaces of this service."""

    search_spaces: Sequence[SpaceSummary] = Field(description="by name")


class TargetAppAnswer(Answer):
    """A described target app."""

    name: str = Field(description="the name to use in a job")
    description: str = Field(description="what it is")
    thread_safe: bool = Field(description="false: threads stay 1")
    gevent_ok: bool = Field(description="false: do not use the search space gevent")
    limits: Limits = Field(description="default limits of its container")
    workload: Workload = Field(description="default workload of its jobs")
    uwsgi_ini: str = Field(description="its uwsgi.ini, the default baseline")


class TargetAppList(Answer):
    """All target apps of this service."""

    target_apps: Sequence[TargetAppAnswer] = Field(description="by name")


# ---- A request to lint a uwsgi.ini, and the findings

SeverityName = Literal["error", "warning", "note"]


class LintRequest(Document):
    """The body of `POST /v1/lint`. A rule is silent where a limit that it needs is not given."""

    ini: str = Field(max_length=200_000, description="the text of the uwsgi.ini")
    limits: Limits | None = Field(None, description="where it will run; default: the job's")
    memory_per_process_mb: float | None = Field(
        None, gt=0, le=1_048_576, description="memory of one worker; default: as the job measured"
    )
    job: int | None = Field(
        None, ge=1, le=2**63 - 1, description="a job whose build of uWSGI will read the file"
    )
    uwsgi: str | None = Field(
        None,
        pattern=r"^2\.0\.(1[5-9]|[2-9][0-9])(\.[1-9])?$",
        description="the release of uWSGI that reads the file, from 2.0.15 on; default: the newest",
    )
    clients_keep: bool = Field(
        False, description="clients want to keep their connections; the job's want it too"
    )
    fix: bool = Field(False, description="whether to send the file with its safe fixes")


class FixAnswer(Answer):
    """How to fix a finding."""

    sentence: str = Field(description="what to do")
    is_safe: bool = Field(
        description="true: it keeps what uWSGI does today, or makes it do what the file says"
    )
    is_automatic: bool = Field(description="whether `tuner lint --fix` can do it")


class FindingAnswer(Answer):
    """One thing that is wrong with the file."""

    rule: str = Field(description="the rule's id, which stays")
    name: str = Field(description="the rule's name")
    severity: SeverityName = Field(description="error, warning or note, the worst first")
    line: int | None = Field(description="from 1; null: the file as a whole")
    message: str = Field(description="what is wrong")
    fix: FixAnswer | None = Field(description="how to fix it; null: no advice")


class LintAnswer(Answer):
    """All findings in a uwsgi.ini, by line."""

    uwsgi_version: str = Field(description="the release whose options the rules used")
    is_of_build: bool = Field(description="whether the options of the build itself were known")
    is_usable: bool = Field(description="false: the text cannot be read as an ini")
    findings: Sequence[FindingAnswer] = Field(description="by line, the worst first")
    fixed_ini: str | None = Field(
        description="the file with its safe fixes, if the request asked for them; "
        "`findings` are those that remain"
    )


# ---- The pre-flight check of a job's files


@dataclass(frozen=True, kw_only=True)
class LeftOutAnswer(LeftOut):
    """A line of a file that trials leave out; the recommended file still has it."""

    sentence: Annotated[str, about("the line and its danger in a sentence")]


class PreflightAnswer(Answer):
    """What is known about a job's files before the first trial."""

    left_out: Sequence[LeftOutAnswer] = Field(
        description="lines that all arms leave out, because the request does not allow them"
    )
    somaxconn: int | None = Field(
        description="net.core.somaxconn in the container; null until a host has read it"
    )
    findings: Sequence[PreflightFinding] | None = Field(
        description="findings of the rules and of a strict uWSGI; null until a host has checked"
    )


# ---- The report of a comparison, file by file, and the raw data of a job


@dataclass(frozen=True, kw_only=True)
class ArmAnswer(ArmReport):
    """The figures of one file of a comparison."""

    doubt_sentences: Annotated[tuple[str, ...], about("each of the doubts in a sentence")]


class ReportAnswer(Answer):
    """The figures of a comparison."""

    blocks: int = Field(description="fresh interleaved blocks")
    arms: Sequence[ArmAnswer] = Field(description="one per file, in the order of the request")
    curves: Sequence[Curve] = Field(
        (), description="one per box of a grid; empty where nothing varies"
    )


@dataclass(frozen=True, kw_only=True)
class WindowAnswer(Window):
    """One stretch of load: the raw data of every statistic."""

    block: Annotated[int, about("the block's sequence within the job")]
    phase: Annotated[Phase, about("the phase that the block belongs to")]
    host: Annotated[str | None, about("the host that measured it")]
    trial: Annotated[int, about("the trial, or the file of a comparison, that it measured")]


class WindowList(Answer):
    """The raw data of a job."""

    files: Sequence[str] | None = Field(
        description="names of the compared files, which `trial` of a window counts; "
        "null unless kind is compare"
    )
    windows: Sequence[WindowAnswer] = Field(description="in the order in which they ran")


# ---- The evidence of an answer as it is sent: the nouns of the model with relative gains

UNIT = "relative"


@dataclass(frozen=True, kw_only=True)
class LookAnswer(Look):
    """One look at the confirmation while it ran."""

    unit: Annotated[str, about("of estimate, low and high; more is better")] = UNIT


@dataclass(frozen=True, kw_only=True)
class EvidenceAnswer(Evidence):
    """The evidence of an answer. Empty list: the phase was skipped, or the job is an old one."""

    optimistic_gain_note: Annotated[str, about("why that is no evidence")]
    unit: Annotated[str, about("of gains and effects: a share; more is better")] = UNIT


# ---- Pools, their hosts, and the effects that each host can detect


@dataclass(frozen=True, kw_only=True)
class CalibrationAnswer(Calibration):
    """The baseline against itself: bias and noise of the host, and the effects it can detect."""

    smallest_bias: Annotated[
        float | None,
        about("smallest relative bias that these blocks can detect; null: too few blocks"),
    ]


class SeesAnswer(Answer):
    """The smallest effect that a comparison of this length can detect on a host."""

    minutes: float = Field(description="length of the comparison, starts included")
    effect: float | None = Field(
        description="smallest detectable relative effect; null: too short for a verdict"
    )


class CalibrationReport(Answer):
    """The figures of a calibration."""

    calibration: CalibrationAnswer = Field(description="noise and bias of the hosts")
    sees: Sequence[SeesAnswer] = Field(description="smallest detectable effect by minutes")


@dataclass(frozen=True, kw_only=True)
class HostAnswer(BenchmarkHost):
    """A benchmark host, and the effects that it can detect."""

    calibration: Annotated[CalibrationAnswer | None, about("the last one; null: there is none")]
    live: Annotated[bool, about("whether its worker reported recently")]
    sees: Annotated[tuple[SeesAnswer, ...], about("smallest detectable effect by minutes")]


class PoolAnswer(Answer):
    """A set of like hosts."""

    name: str = Field(description="the name to use in a job")
    hosts: Sequence[HostAnswer] = Field(description="its hosts, by name")


class PoolList(Answer):
    """All pools with a worker that has reported."""

    pools: Sequence[PoolAnswer] = Field(description="by name")
