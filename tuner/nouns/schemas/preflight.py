"""The pre-flight check of a job's files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tuner.nouns.model import LeftOut, PreflightFinding, about
from tuner.nouns.schemas.base import Answer


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
