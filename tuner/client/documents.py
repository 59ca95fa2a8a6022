"""Models → JSON documents, with the given fields only."""

import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python


def document_of(value: Any) -> Any:
    """A request or an answer as JSON, also in lists and mappings.

    A request holds the fields that its author gave; the service has the defaults. An answer holds
    all fields that the service sent, also those that this client does not know.
    """
    if isinstance(value, BaseModel):
        return _said(value)
    if is_dataclass(value):
        value = {name: None if _is_open(end) else end for name, end in vars(value).items()}
    if isinstance(value, Mapping):
        return {_leaf(key): document_of(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [document_of(member) for member in value]
    return _leaf(value)


def _said(model: BaseModel) -> dict[str, Any]:
    known = type(model).model_fields
    said = {
        name: document_of(getattr(model, name))
        for name, field in known.items()
        if name in model.model_fields_set or _is_tag(field)
    }
    unknown = {
        name: document_of(member)
        for name, member in (model.model_extra or {}).items()
        if name not in known
    }
    return said | unknown


def _is_tag(field: FieldInfo) -> bool:
    """Whether it tells models apart, as `kind` does: the author need not give it."""
    return get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1


def _is_open(end: Any) -> bool:
    """Whether it is the open end of an interval: null in JSON, which has no infinity."""
    return isinstance(end, float) and not math.isfinite(end)


def _leaf(value: Any) -> Any:
    """Text stays unchanged, also with halves of surrogate pairs: JSON escapes them."""
    return value if type(value) is str else to_jsonable_python(value)
