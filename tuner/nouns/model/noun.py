"""What the nouns share: how a field says what it is, and what an open end of an interval is.

A noun is a frozen dataclass. Each field is declared once, with its description and its unit: the
noun is what the database stores, what the API sends and what the client reads. Nouns that the API
sends have no slots: there the client keeps the fields that only a newer service knows.
"""

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.fields import FieldInfo

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

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
