"""The base of everything a person writes, and the names they give."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

NAME = r"^[a-z0-9][a-z0-9._-]{0,62}$"
Name = Annotated[str, Field(pattern=NAME)]
"""Apps, pools, spaces: safe in a URL, a container label and a file name."""


class Document(BaseModel):
    """Base of everything a person writes: frozen, and a misspelt field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def raise_for(found: Iterable[tuple[tuple[str | int, ...], str]]) -> None:
    """Raise one `ValidationError` for all mistakes, each a place and a reason; nothing for none.

    Raised in a validator, it names the very field: each place counts from that validator's.
    """
    errors = [
        InitErrorDetails(
            type=PydanticCustomError("value_error", "{why}", {"why": why}), loc=place, input=None
        )
        for place, why in found
    ]
    if errors:
        raise ValidationError.from_exception_data("document", errors)
