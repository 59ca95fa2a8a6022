"""What is sent again, after which pause, and what never is."""

import json
import logging
from datetime import UTC, datetime

import httpx
import pytest

from tests.answers import TUNE_CANCELLED, TUNE_QUEUED, TUNE_RUNNING
from tests.unit.client.scripted import Answer, ok, problem, scripted
from tuner.client.retries import asked_s
from tuner.nouns.errors import (
    Conflict,
    InvalidInput,
    LimitReached,
    NotFound,
    TunerError,
    Unavailable,
)

REQUEST = {"app": "checkout", "target": {"target_app": "mixed"}}


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError,
        httpx.ConnectTimeout,
        httpx.ReadTimeout,
        httpx.ReadError,
        httpx.RemoteProtocolError,
        httpx.Response(502, text="<html>bad gateway</html>"),
        problem(503, system="postgresql"),
        httpx.Response(504, text=""),
    ],
)
def test_a_look_is_repeated_until_the_service_is_back(failure: Answer) -> None:
    service = scripted(failure, failure, ok(TUNE_RUNNING))
    assert service.client().job(7).id == 7
    assert service.calls == ["GET /v1/jobs/7"] * 3
    assert len(service.slept) == 2


def test_it_is_given_up_after_so_many_attempts() -> None:
    service = scripted(httpx.ConnectError)
    with pytest.raises(Unavailable, match="nothing answers at http://tuner"):
        service.client(retries=2).job(7)
    assert len(service.seen) == 3


def test_without_retries_there_is_one_attempt_and_no_key() -> None:
    service = scripted(problem(503))
    with pytest.raises(Unavailable):
        service.client(retries=0).submit(REQUEST)
    assert len(service.seen) == 1
    assert "idempotency-key" not in service.seen[0].headers


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidInput),
        (401, InvalidInput),
        (404, NotFound),
        (409, Conflict),
        (413, InvalidInput),
        (422, InvalidInput),
        (429, LimitReached),
        (500, Unavailable),
        (501, Unavailable),
    ],
)
def test_what_would_be_answered_the_same_is_not_asked_again(
    status: int, kind: type[TunerError]
) -> None:
    service = scripted(problem(status))
    with pytest.raises(kind):
        service.client().job(7)
    assert len(service.seen) == 1
    assert not service.slept


def test_a_repeated_request_is_the_same_one_to_the_last_byte() -> None:
    service = scripted(httpx.ReadTimeout, problem(503), ok(TUNE_QUEUED, 201))
    service.client().submit(REQUEST)
    assert len({request.headers["idempotency-key"] for request in service.seen}) == 1
    assert {request.content for request in service.seen} == {json.dumps(REQUEST).encode()}


def test_two_calls_are_two_jobs_unless_the_caller_gives_a_key() -> None:
    service = scripted(ok(TUNE_QUEUED, 201))
    with service.client() as client:
        client.submit(REQUEST)
        client.submit(REQUEST)
        client.submit(REQUEST, key="release-1.4")
    first, second, given = (request.headers["idempotency-key"] for request in service.seen)
    assert first != second
    assert given == "release-1.4"


def test_a_request_that_goes_on_tells_whether_its_job_is_new() -> None:
    service = scripted(httpx.ReadTimeout, ok(TUNE_QUEUED, 201), ok(TUNE_RUNNING))
    with service.client() as client:
        first, is_new = client.go_on(REQUEST)
        again, is_new_again = client.go_on(REQUEST, max_age_days=1)
    assert (first.id, is_new, again.id, is_new_again) == (7, True, 7, False)
    asked = "POST /v1/jobs?go_on=true"
    assert service.calls == [asked, asked, f"{asked}&max_age_days=1"]
    keys = [request.headers["idempotency-key"] for request in service.seen]
    assert keys[0] == keys[1] != keys[2]


def test_calling_off_is_repeated_for_twice_is_once() -> None:
    service = scripted(httpx.ReadTimeout, ok(TUNE_CANCELLED))
    assert service.client().cancel(7).state == "cancelled"
    assert service.calls == ["POST /v1/jobs/7/cancel"] * 2


def test_a_job_is_deleted_in_one_attempt() -> None:
    service = scripted(httpx.Response(204))
    service.client().delete(7)
    lost = scripted(httpx.ReadTimeout)
    with pytest.raises(Unavailable):
        lost.client().delete(7)
    assert service.calls == lost.calls == ["DELETE /v1/jobs/7"]


def test_readiness_is_asked_for_once() -> None:
    service = scripted(problem(503, "worker is away: none of them", system="worker"))
    with pytest.raises(Unavailable) as caught:
        service.client().check_ready()
    assert (caught.value.system, caught.value.detail) == ("worker", "none of them")
    assert len(service.seen) == 1


def test_a_service_that_asks_for_time_gets_it() -> None:
    away = problem(503)
    away.headers["Retry-After"] = "5"
    service = scripted(away, away, ok(TUNE_RUNNING))
    service.client().job(7)
    assert all(5 < pause < 6 for pause in service.slept)


def test_one_that_asks_for_very_long_is_not_waited_for() -> None:
    away = problem(503)
    away.headers["Retry-After"] = "3600"
    service = scripted(away)
    with pytest.raises(Unavailable):
        service.client().job(7)
    assert not service.slept


def test_a_long_wait_is_said_and_a_short_one_is_not(caplog: pytest.LogCaptureFixture) -> None:
    patient = problem(503, "postgresql is away: no", system="postgresql")
    patient.headers["Retry-After"] = "5"
    scripted(httpx.ConnectError, ok(TUNE_RUNNING)).client().job(7)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    scripted(patient, ok(TUNE_RUNNING)).client().job(7)
    assert "postgresql is away: no; trying again in 5." in caplog.text


def test_pauses_double_up_to_a_bound_and_differ_by_chance() -> None:
    service = scripted(httpx.ConnectError)
    with pytest.raises(Unavailable):
        service.client(retries=40).job(7)
    longest = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, *[10.0] * 34]
    assert all(
        most / 2 <= pause <= most for pause, most in zip(service.slept, longest, strict=True)
    )
    assert len({round(pause, 6) for pause in service.slept}) > 10


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("5", 5.0),
        (" 0 ", 0.0),
        ("Sat, 21 Nov 2026 12:00:30 GMT", 30.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("²", None),
        ("", None),
        (None, None),
    ],
)
def test_the_time_asked_for_is_a_number_or_a_date(
    header: str | None, seconds: float | None
) -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert asked_s(header, now=lambda: noon) == seconds
