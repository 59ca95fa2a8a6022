"""What is known of a job's files before anything is measured with them."""

from collections.abc import Sequence

from pydantic import Field

from tuner.model import Danger
from tuner.schemas.base import Answer


class LeftOutAnswer(Answer):
    """A line of a file that trials go without; the recommended file still has it."""

    option: str = Field(description="in the file's spelling")
    line: int = Field(description="of the file, from 1")
    danger: Danger = Field(description="what it may do; `allow` of the request takes these")
    file: str = Field(description="which of several files; empty where there is but one")
    sentence: str = Field(description="the same for a person")


class PreflightFindingAnswer(Answer):
    """Something odd about a file that keeps nobody from measuring it."""

    rule: str = Field(description="a rule of `tuner lint`, or strict, or runs-anyway")
    severity: str = Field(description="error, warning or note")
    line: int | None = Field(description="of the file, from 1; null: the file as a whole")
    file: str = Field(description="which of several files; empty where there is but one")
    message: str = Field(description="what is odd")


class PreflightAnswer(Answer):
    """What a job's files are like, before the first trial."""

    left_out: Sequence[LeftOutAnswer] = Field(
        description="what trials go without, on all arms alike: the request does not allow it"
    )
    somaxconn: int | None = Field(
        description="net.core.somaxconn in the container; null before the host has looked"
    )
    findings: Sequence[PreflightFindingAnswer] | None = Field(
        description="what the rules and a strict uWSGI say; null before the host has looked"
    )
