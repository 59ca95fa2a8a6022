"""What a check found where an app is deployed: does its file still have the recommended effect?"""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from tuner.nouns.model.document import Document
from tuner.nouns.model.measuring import JobId

MOST_SAID = 500


class Checker(StrEnum):
    """The command that looked."""

    RECOMMEND = "recommend"  # `tuner recommend --check`: compares the deployed file
    GATE = "gate"  # `tuner gate`: measures on a new image


class NewCheck(Document):
    """The body of `POST /v1/apps/{app}/checks`."""

    checker: Checker = Field(description="recommend: compared the file; gate: measured an image")
    job: int = Field(ge=1, le=2**63 - 1, description="the job whose answer was checked")
    holds: bool = Field(description="whether what is deployed still has the recommended effect")
    said: str = Field("", max_length=MOST_SAID, description="what differs, in a sentence")


class Check(BaseModel):
    """The last word of one checker about an app."""

    model_config = ConfigDict(frozen=True)

    checker: Checker = Field(description="recommend: compared the file; gate: measured an image")
    job: JobId = Field(description="the job whose answer was checked")
    holds: bool = Field(description="whether what is deployed still has the recommended effect")
    said: str = Field(description="what differs, in a sentence")
    at: datetime = Field(description="when the service heard of it")
