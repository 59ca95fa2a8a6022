"""Models to JSON documents, and HTTP answers to models and texts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

import httpx
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from tuner.nouns.errors import Unavailable
from tuner.nouns.model import mistakes_of
from tuner.nouns.schemas import JobAnswer

# ---- Models → JSON documents, with the given fields only


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


# ---- HTTP answers → models and texts

Answered = TypeVar("Answered", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ReadAs(Generic[Answered]):
    """A reader of JSON answers. Raises `Unavailable` for the answer of another service.

    Unknown fields are no mistake at any depth: the service may be newer than its clients. The
    model keeps them, so that `document_of` prints them.
    """

    model: type[Answered]

    def __call__(self, answer: httpx.Response) -> Answered:
        try:
            return self.model.model_validate_json(answer.content, extra="allow")
        except ValidationError as error:
            raise Unavailable("api", _unlike(answer, error)) from error


def job_and_novelty(answer: httpx.Response) -> tuple[JobAnswer, bool]:
    """A job, and whether the request has made it."""
    return ReadAs(JobAnswer)(answer), answer.status_code == httpx.codes.CREATED


def text(answer: httpx.Response) -> str:
    """A text, unchanged. Raises `Unavailable` for an HTML page, which another service sent."""
    if answer.headers.get("content-type", "").startswith("text/html"):
        raise Unavailable("api", f"what answers at {answer.url} is not the tuner: it sent a page")
    return page(answer)


def page(answer: httpx.Response) -> str:
    """A text of any kind, unchanged."""
    return answer.content.decode("utf-8", "replace")


def _unlike(answer: httpx.Response, error: ValidationError) -> str:
    path, message = mistakes_of(error)[0]
    if not path:
        return f"what answers at {answer.url} is not the tuner"
    return (
        f"what answers at {answer.url} has another version than this client: {path}: "
        f"{message[0].lower()}{message[1:]}"
    )
