"""A link to one job for somebody without the key."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from tuner.nouns.model.measuring import JobId

MOST_LINKS = 20
"""Of one job at the same time."""


class Link(BaseModel):
    """Shows one job, read-only, until it is revoked. Its address cannot be read again."""

    model_config = ConfigDict(frozen=True)

    id: int = Field(description="the link's number, to revoke it")
    job: JobId = Field(description="the job that it shows")
    created_at: datetime = Field(description="when it was made")
    expires_at: datetime | None = Field(description="when it ends by itself; null: never")
