"""Names that a request may use: search spaces and target apps."""

from collections.abc import Sequence

from pydantic import Field

from tuner.nouns.model import Limits, Workload
from tuner.nouns.schemas.base import Answer


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
