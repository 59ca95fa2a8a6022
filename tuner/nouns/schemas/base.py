"""The base of all answers, problems and health."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

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
