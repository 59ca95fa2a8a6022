"""Problems of the service → the errors of `tuner.nouns.errors`."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import httpx

from tuner.nouns.errors import (
    Conflict,
    InvalidInput,
    LimitReached,
    Mistake,
    NotFound,
    Stale,
    TunerError,
    Unavailable,
)


def error_of(answer: httpx.Response) -> TunerError:
    """The error that an unsuccessful answer stands for."""
    problem = _problem_of(answer)
    if problem is None:
        return Unavailable("api", _stranger(answer))
    detail = str(problem["detail"])
    match answer.status_code:
        case HTTPStatus.NOT_FOUND:
            return NotFound(detail)
        case HTTPStatus.CONFLICT:
            return Conflict(detail)
        case HTTPStatus.GONE:
            return Stale(detail)
        case HTTPStatus.TOO_MANY_REQUESTS:
            return LimitReached(detail)
        case HTTPStatus.SERVICE_UNAVAILABLE:
            system = str(problem.get("system") or "api")
            return Unavailable(system, detail.removeprefix(f"{system} is away: "))
        case HTTPStatus.UNAUTHORIZED:
            return InvalidInput([Mistake("TUNER_API_KEY", detail)])
        case status if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return InvalidInput(_mistakes_of(problem) or [Mistake("", detail)])
        case _:
            return Unavailable("api", detail)


def _problem_of(answer: httpx.Response) -> dict[str, Any] | None:
    """The body as a problem; None if another service sent it."""
    if not answer.is_error:
        return None
    try:
        problem = answer.json()
    except (ValueError, RecursionError):
        return None
    return problem if isinstance(problem, dict) and "detail" in problem else None


def _stranger(answer: httpx.Response) -> str:
    said = f"{answer.url} answers {answer.status_code} {answer.reason_phrase}".rstrip()
    if answer.has_redirect_location:
        # The key goes with the request, so only the person may choose its address.
        return f"{said}: give the address that it leads to, {answer.headers['location']}"
    return f"{said}; is this the tuner?"


def _mistakes_of(problem: Mapping[str, Any]) -> list[Mistake]:
    listed = problem.get("mistakes")
    if not isinstance(listed, list):
        return []
    found = [mistake for mistake in listed if isinstance(mistake, dict)]
    return [Mistake(str(m.get("path", "")), str(m.get("message", ""))) for m in found]
