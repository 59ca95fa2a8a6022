"""HTTP answers → models and texts."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from tuner.nouns.errors import Unavailable
from tuner.nouns.model import mistakes_of
from tuner.nouns.schemas import JobAnswer

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
