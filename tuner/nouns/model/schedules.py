"""When an app is tuned again by itself, and the answer that such a job follows."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from croniter import croniter
from pydantic import BeforeValidator, Field, field_validator

from tuner.nouns.model.document import Document
from tuner.nouns.model.limits import Limits
from tuner.nouns.model.spaces import Scalar

LATE_BY = timedelta(hours=6)
"""A time of a schedule that no worker saw is made up for within this."""


class Schedule(Document):
    """The times at which an app is looked at: is there a reason to tune it again?"""

    cron: str = Field(description="minute, hour, day, month, weekday, in UTC; 0 2 * * *: at 02:00")
    older_than_days: float = Field(
        30, gt=0, le=3650, description="tune again when the last answer is older"
    )

    @field_validator("cron")
    @classmethod
    def _is_cron(cls, cron: str) -> str:
        if len(cron.split()) != 5:
            raise ValueError(f"{cron!r} has not the five fields of cron: give such as '0 2 * * *'")
        try:
            croniter(cron).get_next()
        except ValueError as error:
            raise ValueError(f"{cron!r} is no cron: {error}; give such as '0 2 * * *'") from error
        return cron

    def due(self, now: datetime) -> datetime | None:
        """The newest time that has come; None if it is more than `LATE_BY` ago."""
        whole = now.astimezone(UTC).replace(second=1, microsecond=0)
        newest: datetime = croniter(self.cron, whole).get_prev(datetime)
        return newest if now - newest <= LATE_BY else None

    def following(self, now: datetime) -> datetime:
        """The first time after `now`."""
        found: datetime = croniter(self.cron, now.astimezone(UTC)).get_next(datetime)
        return found


def _as_document(given: Any) -> Any:
    return {"cron": given} if isinstance(given, str) else given


Scheduled = Annotated[Schedule | None, BeforeValidator(_as_document)]
"""A schedule, or its cron alone."""


class Followed(Document):
    """The earlier answer that a job of a schedule is about: does it still hold?"""

    job: int
    params: dict[str, Scalar]
    uwsgi_ini: str  # the recommended file
    limits: Limits  # the box that it relies on
