"""What comes back → models and texts."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from tuner.errors import Unavailable
from tuner.model import mistakes_of

Answered = TypeVar("Answered", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ReadAs(Generic[Answered]):
    """A reader of JSON answers. What it raises is `Unavailable`: whoever answers is not ours.

    Fields that this client does not know are no mistake, down to the innermost: the service may be
    newer than its clients. They are kept aside, for those who print the answer.
    """

    model: type[Answered]

    def __call__(self, answer: httpx.Response) -> Answered:
        try:
            return self.model.model_validate_json(answer.content, extra="allow")
        except ValidationError as error:
            raise Unavailable("api", _unlike(answer, error)) from error


def text(answer: httpx.Response) -> str:
    """A text, to the last byte. Raises `Unavailable` where it is a page: that is none of ours."""
    if answer.headers.get("content-type", "").startswith("text/html"):
        raise Unavailable("api", f"what answers at {answer.url} is not the tuner: it sent a page")
    return page(answer)


def page(answer: httpx.Response) -> str:
    """A text of any kind, to the last byte."""
    return answer.content.decode("utf-8", "replace")


def _unlike(answer: httpx.Response, error: ValidationError) -> str:
    path, message = mistakes_of(error)[0]
    if not path:
        return f"what answers at {answer.url} is not the tuner"
    return (
        f"what answers at {answer.url} has another version than this client: {path}: "
        f"{message[0].lower()}{message[1:]}"
    )
