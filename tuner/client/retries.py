"""When to call again, and the service's problems as the errors of `tuner.nouns.errors`."""

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

import httpx
from tenacity import (
    RetryCallState,
    Retrying,
    retry_any,
    retry_if_exception_type,
    retry_if_result,
    stop_after_attempt,
    wait_combine,
    wait_exponential,
    wait_random_exponential,
)

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

# ---- Problems of the service → the errors of `tuner.nouns.errors`


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


# ---- When to call again: only calls that are safe to repeat, after a pause, a few times

RETRIED = frozenset(
    {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)
"""Something between the client and the answer is away. A 500 would be a 500 again."""

FIRST_S = 0.2
LONGEST_S = 10.0
PATIENCE_S = 30.0
"""The client does not wait for a service that asks for a longer pause."""
NOTICED_S = 2.0
"""A person notices a longer pause."""

log = logging.getLogger(__name__)


def retrying(times: int, sleep: Callable[[float], None]) -> Retrying:
    """Up to `times` more attempts; the last answer, or the last error, is the result.

    Half of each pause is random, so that many clients do not come back at one instant. A pause is
    never shorter than the service asks for.
    """
    enough = stop_after_attempt(times + 1)
    half = {"multiplier": FIRST_S / 2, "max": LONGEST_S / 2}
    return Retrying(
        sleep=sleep,
        retry=retry_any(retry_if_exception_type(Unavailable), retry_if_result(_is_away)),
        stop=lambda state: enough(state) or _asked_s(state) > PATIENCE_S,
        wait=wait_combine(_asked_s, wait_exponential(**half), wait_random_exponential(**half)),
        before_sleep=_say,
        retry_error_callback=_answer,
    )


def asked_s(retry_after: str | None, now: Callable[[], datetime] | None = None) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date; None: not legible."""
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    present = now() if now else datetime.now(UTC)
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - present).total_seconds())


def _is_away(answer: httpx.Response) -> bool:
    return answer.status_code in RETRIED


def _answer(state: RetryCallState) -> httpx.Response:
    """The answer to the last attempt. Raises what the attempt raised."""
    assert state.outcome is not None  # noqa: S101  tenacity asks after an attempt only
    answer: httpx.Response = state.outcome.result()
    return answer


def _asked_s(state: RetryCallState) -> float:
    if state.outcome is None or state.outcome.failed:
        return 0.0
    return asked_s(_answer(state).headers.get("retry-after")) or 0.0


def _say(state: RetryCallState) -> None:
    failed = state.outcome.exception() if state.outcome is not None else None
    pause_s = state.upcoming_sleep
    level = logging.WARNING if pause_s >= NOTICED_S else logging.INFO
    log.log(level, "%s; trying again in %.1f s", failed or error_of(_answer(state)), pause_s)
