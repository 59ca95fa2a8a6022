"""The base of everything a person writes, and the names they give."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
"""Apps, pools, spaces: safe in a URL, a container label and a file name."""


class Document(BaseModel):
    """Base of everything a person writes: frozen, and a misspelt field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
