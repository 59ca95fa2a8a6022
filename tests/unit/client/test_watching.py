"""A job until it has ended, through everything that may happen meanwhile."""

import httpx
import pytest

from tests.answers import COMPARE_DONE, COMPARE_RUNNING, TUNE_QUEUED, TUNE_RUNNING
from tests.unit.client.scripted import ok, problem, scripted
from tuner.nouns.errors import Conflict, NotFound, Unavailable

DONE = {**TUNE_RUNNING, "state": "succeeded", "phase": "done"}
FAILED = {**TUNE_RUNNING, "state": "failed"}
AWAY = problem(503, "postgresql is away: no", system="postgresql")


def test_each_change_is_seen_once_and_the_end_comes_last() -> None:
    service = scripted(
        ok(TUNE_QUEUED),
        ok(TUNE_QUEUED),
        ok(TUNE_RUNNING, etag='"2"'),
        httpx.Response(304),
        ok(DONE),
    )
    states = [job.state for job in service.client().watch(7, poll_s=2.0)]
    assert states == ["queued", "running", "succeeded"]
    assert service.slept == [2.0] * 4


def test_a_job_that_has_ended_is_looked_at_once() -> None:
    service = scripted(ok(FAILED))
    assert [job.state for job in service.client().watch(7)] == ["failed"]
    assert not service.slept


def test_a_restart_of_the_service_is_waited_for_and_told() -> None:
    service = scripted(ok(TUNE_RUNNING), httpx.ConnectError, AWAY, ok(DONE))
    told: list[str] = []
    client = service.client()
    states = [job.state for job in client.watch(7, on_away=lambda why: told.append(str(why)))]
    assert states == ["running", "succeeded"]
    assert told[1] == "postgresql is away: no"
    assert len(told) == 2


def test_patience_has_an_end_and_begins_anew_with_each_answer() -> None:
    service = scripted(*[AWAY] * 50, ok(TUNE_RUNNING), *[AWAY] * 50, ok(DONE))
    assert service.client().wait(7).state == "succeeded"
    service = scripted(AWAY)
    with pytest.raises(Unavailable):
        service.client().wait(7, patience_s=10)
    assert 10 <= service.now <= 12


def test_what_no_patience_helps_against_is_raised_at_once() -> None:
    service = scripted(ok(TUNE_RUNNING), problem(404))
    with pytest.raises(NotFound):
        service.client().wait(7)


def test_waiting_gives_the_job_as_it_ended() -> None:
    service = scripted(ok(COMPARE_RUNNING), ok(COMPARE_DONE))
    found = service.client().wait(8)
    assert found.report is not None
    assert found.report.arms[1].name == "threads.ini"


def test_a_job_that_goes_on_after_the_time_is_up_is_a_conflict() -> None:
    service = scripted(ok(TUNE_RUNNING))
    with pytest.raises(Conflict, match="job 7 goes on: running"):
        service.client().wait(7, timeout_s=3.5)
    assert service.now == pytest.approx(3.5)
    with pytest.raises(Conflict, match="not seen yet"):
        scripted(AWAY).client().wait(7, timeout_s=0.5)
