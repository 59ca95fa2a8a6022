"""What a request may name."""

from collections.abc import Sequence

from pydantic import Field

from tuner.model import Limits, Workload
from tuner.schemas.base import Answer


class SpaceSummary(Answer):
    """A search space in a list."""

    name: str = Field(description="what a job names it by")
    description: str = Field(description="what it is for")
    parameters: Sequence[str] = Field(description="what it varies")


class SpaceList(Answer):
    """All search spaces of this service."""

    search_spaces: Sequence[SpaceSummary] = Field(description="by name")


class TargetAppAnswer(Answer):
    """A described target app."""

    name: str = Field(description="what a job names it by")
    description: str = Field(description="what it is")
    thread_safe: bool = Field(description="false: threads stay 1")
    gevent_ok: bool = Field(description="false: the search space gevent is not for it")
    limits: Limits = Field(description="its box, unless a job says otherwise")
    workload: Workload = Field(description="its load, unless a job says otherwise")
    uwsgi_ini: str = Field(description="its own file, the default baseline")


class TargetAppList(Answer):
    """All target apps of this service."""

    target_apps: Sequence[TargetAppAnswer] = Field(description="by name")
