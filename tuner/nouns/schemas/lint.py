"""A request to lint a uwsgi.ini, and the findings."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from tuner.nouns.model import Document, Limits
from tuner.nouns.schemas.base import Answer

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
