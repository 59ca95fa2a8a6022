"""What answers of every kind are made of."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from tuner.model import Bottleneck, Doubt, FailureCode, Metric


class Answer(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(frozen=True)


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


class ErrorAnswer(Answer):
    """Why a job or a trial ended without a result."""

    code: FailureCode = Field(description="the kind of failure")
    message: str = Field(description="a sentence about it")
    log_tail: str = Field(description="the container's last lines; may be empty")


class DoubtAnswer(Answer):
    """A reason not to take a figure at face value."""

    code: Doubt = Field(description="the kind of doubt")
    sentence: str = Field(description="what it means")


class EffectAnswer(Answer):
    """A relative change against the baseline, with its 95 % interval."""

    metric: Metric = Field(description="what changed")
    estimate: float = Field(description="0.068 is 6.8 % more of the metric")
    ci_low: float | None = Field(description="lower end of the 95 % interval; null: unbounded")
    ci_high: float | None = Field(description="upper end of the 95 % interval; null: unbounded")
    unit: str = Field("relative", description="relative: a share of the baseline's value")


class DiagnosisAnswer(Answer):
    """What limits the app under this workload."""

    bottleneck: Bottleneck = Field(description="the kind of limit")
    sentence: str = Field(description="the same for a person")
    evidence: Mapping[str, float] = Field(description="the figures that say so")


class Health(Answer):
    """The process lives, or is ready."""

    status: str = Field(description="always ok: what is not ok is a problem")
