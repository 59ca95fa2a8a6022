"""The base of all nouns and of everything a person writes, and the names they give."""

import math
import re
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


# ---- The base of everything a person writes, and the names they give

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


# ---- What the nouns share: how a field says what it is, and what an open end of an interval is
#
# A noun is a frozen dataclass. Each field is declared once, with its description and its unit: the
# noun is what the database stores, what the API sends and what the client reads. Nouns that the API
# sends have no slots: there the client keeps the fields that only a newer service knows.

_Noun = TypeVar("_Noun", bound="DataclassInstance")


def about(description: str) -> FieldInfo:
    """The description of a field, for `Annotated`; OpenAPI shows it."""
    info: FieldInfo = Field(description=description)
    return info


def extended(into: type[_Noun], noun: object, **more: Any) -> _Noun:
    """`noun` with more fields: one of `into`, which declares them besides those of the noun."""
    shared = {f.name: getattr(noun, f.name) for f in fields(into) if hasattr(noun, f.name)}
    return into(**shared | more)


_NULLABLE = WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "null"}]})

LowEnd = Annotated[float, BeforeValidator(lambda end: -math.inf if end is None else end), _NULLABLE]
"""The lower end of an interval: minus infinity where it is unbounded, null in JSON."""

HighEnd = Annotated[float, BeforeValidator(lambda end: math.inf if end is None else end), _NULLABLE]
"""The upper end of an interval: infinity where it is unbounded, null in JSON."""


class LogRatio:
    """Marks a field that holds log ratios to the baseline; answers have relative gains there."""


LOG = LogRatio()

Gain = Annotated[float, BeforeValidator(lambda gain: math.nan if gain is None else gain), _NULLABLE]
"""A gain; no number where it is unknown or unbounded, null in JSON."""


# ---- Sizes and durations as Compose writes them

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([bkmgt]?)(?:i?b)?", re.IGNORECASE)
_PART = r"(\d+(?:\.\d+)?)(h|ms|us|m|s)"
_IN_MB = {"": 2**-20, "b": 2**-20, "k": 2**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20}
_IN_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6}


def megabytes(text: str) -> int | None:
    """`512m`, `1.5gb` or a number of bytes, rounded up; None for anything else."""
    found = _SIZE.fullmatch(text.strip())
    return math.ceil(float(found[1]) * _IN_MB[found[2].lower()]) if found else None


def seconds(text: str) -> float | None:
    """`500ms` or `1m30s`; None for anything else."""
    if not re.fullmatch(f"(?:{_PART})+", text):
        return None
    return sum(float(number) * _IN_S[unit] for number, unit in re.findall(_PART, text))
