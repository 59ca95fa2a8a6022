"""Errors as `application/problem+json` (RFC 9457), each with the id of its request."""

import logging
import re
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tuner.nouns import log_context, wording
from tuner.nouns.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    LimitReached,
    Mistake,
    NotFound,
    Stale,
    TunerError,
    Unavailable,
)
from tuner.nouns.masking import masked
from tuner.nouns.model import mistakes_of
from tuner.nouns.schemas import MistakeAnswer, Problem

# ---- Each request gets an id, for the log and for the answer, and is timed under its route

REQUEST_ID = "X-Request-ID"
YEAR_S = 31_536_000
NO_ROUTE = "none"
"""The route of a request that was refused before there was one, or that has none."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_GOOD_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


def new_latencies() -> Histogram:
    """Latencies of one app. No label holds what a client can choose freely."""
    return Histogram(
        "tuner_http_request_seconds",
        "From the first byte of a request to the first byte of its answer",
        ("method", "route", "status"),
        registry=None,
        buckets=BUCKETS_S,
    )


def echoed() -> dict[str, str]:
    """The header that names the present request, for an answer made outside of the middleware."""
    return {REQUEST_ID: str(log_context.present().get("request", ""))}


class ObserveRequests:
    """ASGI middleware, the outermost: it also sees what the others refuse.

    The time ends with the first byte of the answer, so a stream of events counts as fast as it
    begins.
    """

    def __init__(self, app: ASGIApp, *, latencies: Histogram) -> None:
        self._app = app
        self._latencies = latencies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, request_id, is_answered = time.perf_counter(), _id_of(scope), False
        log_context.begin(request=request_id)

        async def answer(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                is_answered = True
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                headers.setdefault("X-Content-Type-Options", "nosniff")
                headers.setdefault("Cache-Control", "no-store")
                if scope.get("scheme") == "https":
                    headers.setdefault("Strict-Transport-Security", f"max-age={YEAR_S}")
                self._observe(scope, message["status"], time.perf_counter() - began)
            await send(message)

        try:
            await self._app(scope, receive, answer)
        finally:
            if not is_answered:  # Starlette answers 500 outside of all middleware
                self._observe(scope, 500, time.perf_counter() - began)

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = getattr(scope.get("route"), "path", NO_ROUTE)
        self._latencies.labels(method, route, str(status)).observe(seconds)


def _id_of(scope: Scope) -> str:
    """The id that the client gave, if it can stand in a log; else a new one."""
    given = Headers(scope=scope).get(REQUEST_ID, "")
    return given if _GOOD_ID.fullmatch(given) else uuid4().hex


# ---- Errors as `application/problem+json` (RFC 9457): one table for statuses, one shape for all

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 5
LIMIT_LASTS_S = 60  # until a job may have ended

_STATUS: Mapping[type[TunerError], int] = {
    InvalidInput: 422,
    Forbidden: 403,
    NotFound: 404,
    Stale: 410,  # before Conflict, which it is too
    LimitReached: 429,
    Conflict: 409,
    Unavailable: 503,
}
DETAILS = {
    401: "this service asks for a key: send it in X-API-Key, or in Authorization as a Bearer token",
    403: "a page of another site sent this request",
    404: "there is nothing at this address",
    405: "this address does not accept that method; the Allow header lists the methods",
    406: "job 9 is of kind calibrate, whose report is no html: ask for format=json",
    408: "the request body did not come in time",
    409: "job 7 is still in phase search: there is no answer yet",
    410: "the recommendation of job 7 is 45 days old; the limit is 30 days",
    413: "the request body is larger than 1 MB",
    415: "send the job as JSON with Content-Type: application/json",
    422: "1 mistake in the request",
    429: "shop has 20 jobs that wait, and the service allows no more: wait, or cancel one",
    500: "the service has a fault; its log has the details",
    503: "postgresql is away: connection refused",
}

log = logging.getLogger(__name__)


def problem(
    status: int,
    detail: str,
    *,
    mistakes: Sequence[Mistake] | None = None,
    system: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """The answer for an error. `mistakes` and `system` appear only if they are given."""
    content = _body(status, detail, mistakes, system)
    return JSONResponse(content, status, dict(headers or {}), media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Make every error of `app` a problem, also the errors of the framework."""
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _bad_parameters)
    app.add_exception_handler(Exception, _own_fault)
    for error in _STATUS:
        app.add_exception_handler(error, _tuner_error)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The entries of OpenAPI for these statuses, each with an example."""
    return {status: _documentation(status) for status in statuses}


def _sendable(text: str) -> str:
    """The text with `?` for halves of surrogate pairs, which a quoted request may hold.

    It may hold secrets too.
    """
    return masked(text.encode("utf-8", "replace").decode())


def _body(
    status: int, detail: str, mistakes: Sequence[Mistake] | None, system: str | None
) -> dict[str, Any]:
    phrase = HTTPStatus(status).phrase
    listed = [
        MistakeAnswer(path=mistake.path, message=_sendable(mistake.message))
        for mistake in mistakes or ()
    ]
    return Problem(
        type=f"urn:uwsgi-tuner:problem:{phrase.lower().replace(' ', '-')}",
        title=phrase,
        status=status,
        detail=_sendable(detail),
        mistakes=None if mistakes is None else listed,
        system=system,
    ).model_dump(exclude_none=True)


def _documentation(status: int) -> dict[str, Any]:
    mistakes = [Mistake("limits.memory_gb", "unknown field")] if status == 422 else None
    example = _body(status, DETAILS[status], mistakes, "postgresql" if status == 503 else None)
    schema = {"$ref": "#/components/schemas/Problem"}
    content = {MEDIA_TYPE: {"schema": schema, "example": example}}
    return {"description": HTTPStatus(status).phrase, "content": content}


def _tuner_error(request: Request, error: Exception) -> JSONResponse:
    status = next(code for kind, code in _STATUS.items() if isinstance(error, kind))
    if isinstance(error, InvalidInput):
        return mistaken(error.mistakes)
    if isinstance(error, LimitReached):
        return problem(status, str(error), headers={"Retry-After": str(LIMIT_LASTS_S)})
    if isinstance(error, Unavailable):
        return unavailable(error, to_stranger=IS_STRANGER in request.scope)
    return problem(status, str(error))


IS_STRANGER = "tuner.stranger"
"""In the scope of a request that shows no key, where the service asks for one."""


def unavailable(error: Unavailable, *, to_stranger: bool = False) -> JSONResponse:
    """503 with the system that is away, and why. A stranger does not get the address of it."""
    log.warning("api.unavailable system=%s detail=%s", error.system, error.detail)
    headers = {"Retry-After": str(RETRY_AFTER_S)}
    said = f"{error.system} is away" if to_stranger else str(error)
    return problem(503, said, system=error.system, headers=headers)


def mistaken(mistakes: Sequence[Mistake]) -> JSONResponse:
    """422 with every mistake."""
    count = wording.count(len(mistakes), "mistake")
    return problem(422, f"{count} in the request", mistakes=list(mistakes))


def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101  registered for nothing else
    said = error.detail
    is_stock_phrase = said == HTTPStatus(error.status_code).phrase
    detail = DETAILS.get(error.status_code, said) if is_stock_phrase else said
    return problem(error.status_code, detail, headers=error.headers)


def _bad_parameters(request: Request, error: Exception) -> JSONResponse:
    found = [
        Mistake(path.partition(".")[2] or path, message) for path, message in mistakes_of(error)
    ]
    return mistaken(found)


def _own_fault(request: Request, error: Exception) -> JSONResponse:
    # Starlette raises the error again after this answer, so the server logs its traceback.
    return problem(500, DETAILS[500], headers=echoed())
