"""HTML in every text of a noun that takes it: a page has to show it as text."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from tuner.store.db.rows import to_json

PLANT = """<script>alert("x'")</script>"""


def planted(value: Any) -> Any:
    """The same with the plant in all texts that its model accepts; a file gets it as a comment."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return f"{value}; {PLANT}\n" if value.endswith("\n") else f"{value}{PLANT}"
    if isinstance(value, Mapping):
        return {name: planted(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(planted(item) for item in value)
    if isinstance(value, BaseModel):
        return _grown(value, list(type(value).model_fields))
    if is_dataclass(value) and not isinstance(value, type):
        return _grown(value, [field.name for field in fields(value) if field.init])
    return value


def _grown(noun: Any, names: list[str]) -> Any:
    """With one field after the other, as long as the noun can still be read from its row."""
    for name in names:
        own = getattr(noun, name)
        new = planted(own)
        if new == own:
            continue
        changed = _with(noun, name, new)
        noun = changed if _is_readable(changed) else noun
    return noun


def _with(noun: Any, name: str, value: Any) -> Any:
    if isinstance(noun, BaseModel):
        return noun.model_copy(update={name: value})
    return replace(noun, **{name: value})


def _is_readable(noun: Any) -> bool:
    try:
        TypeAdapter(type(noun)).validate_python(to_json(noun))
    except ValidationError:
        return False
    return True
