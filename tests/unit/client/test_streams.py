"""Events say when to look at a job; where none come, the clock does. Nothing is missed."""

from collections.abc import Iterator
from itertools import islice

import httpx
import pytest

from tests.answers import TUNE_QUEUED, TUNE_RUNNING
from tests.unit.client.scripted import Scripted, ok, problem, scripted
from tuner.client.watching import AGAIN_AFTER_S, BACK_AFTER_S, GATHERED_FOR_S
from tuner.nouns.errors import NotFound, Unavailable
from tuner.nouns.model import EventKind

DONE = {**TUNE_RUNNING, "state": "succeeded", "phase": "done"}
GREETING = b": events\nretry: 1500\n\n"
AWAY = problem(503, "postgresql is away: no", system="postgresql")


def sent(number: int, kind: str = "block") -> bytes:
    data = f'{{"id":{number},"kind":"{kind}","job":7,"pool":null,"numbers":[3]}}'
    return f"event: {kind}\ndata: {data}\nid: {number}\n\n".encode()


def broken(*chunks: bytes) -> Iterator[bytes]:
    """A stream that breaks after these."""
    yield from chunks
    raise httpx.ReadError("connection reset")


def watched(service: Scripted) -> list[str]:
    return [job.state for job in service.client().watch(7, poll_s=600.0)]


def test_an_event_is_a_reason_to_look_and_the_clock_is_none() -> None:
    service = scripted(ok(TUNE_QUEUED), ok(TUNE_QUEUED), ok(TUNE_RUNNING), ok(DONE))
    service.streams = [iter([GREETING, sent(1), b": ping\n\n"])]
    assert watched(service) == ["queued", "running", "succeeded"]
    assert service.slept == [GATHERED_FOR_S] * 2
    assert service.opened[0].headers["accept"] == "text/event-stream"


def test_after_a_stream_has_opened_the_job_is_looked_at_before_any_event() -> None:
    service = scripted(ok(TUNE_RUNNING), ok(DONE))
    service.streams = [iter([GREETING])]
    assert watched(service) == ["running", "succeeded"]
    assert service.slept == []


def test_a_service_without_events_is_polled_and_not_asked_for_them_again() -> None:
    service = scripted(*[ok(TUNE_RUNNING)] * 200, ok(DONE))
    assert [job.state for job in service.client().watch(7, poll_s=2.0)][-1] == "succeeded"
    assert service.slept == [2.0] * 200
    assert len(service.opened) == 1


@pytest.mark.parametrize(
    "held_back",
    [httpx.ReadTimeout, httpx.Response(200, html="<html>login</html>"), AWAY, broken()],
    ids=["timeout", "page", "away", "broken"],
)
def test_where_events_are_held_back_the_job_is_polled_meanwhile(
    held_back: httpx.Response | type[httpx.TransportError] | Iterator[bytes],
) -> None:
    service = scripted(*[ok(TUNE_RUNNING)] * 33, ok(DONE))
    service.streams = [held_back, iter([GREETING, sent(1), sent(2)])]
    assert [job.state for job in service.client().watch(7, poll_s=1.0)] == ["running", "succeeded"]
    polls = round(AGAIN_AFTER_S)
    assert service.slept[:polls] == [1.0] * polls
    assert len(service.opened) == 2


def test_a_stream_that_breaks_is_polled_for_and_opened_again() -> None:
    service = scripted(*[ok(TUNE_RUNNING)] * 5, ok(DONE))
    service.streams = [broken(GREETING), iter([GREETING, sent(9), sent(10)])]
    assert [job.state for job in service.client().watch(7, poll_s=1.0)][-1] == "succeeded"
    assert service.slept[0] == GATHERED_FOR_S
    assert sum(service.slept[1:3]) == BACK_AFTER_S
    assert len(service.opened) == 2


def test_an_absence_of_the_service_is_waited_for_as_without_events() -> None:
    service = scripted(ok(TUNE_RUNNING), AWAY, AWAY, ok(DONE))
    service.streams = [iter([GREETING]), AWAY]
    told: list[str] = []
    states = [job.state for job in service.client().watch(7, on_away=lambda e: told.append(str(e)))]
    assert states == ["running", "succeeded"]
    assert len(told) == 2


def test_events_come_in_order_over_several_streams_and_cut_anywhere() -> None:
    whole = GREETING + sent(1, "reset") + sent(2) + sent(3)
    service = scripted(ok(TUNE_RUNNING))
    service.streams = [broken(whole[:60], whole[60:100], whole[100:]), iter([GREETING, sent(4)])]
    found = list(islice(service.client().events(7), 4))
    assert [event.id for event in found] == [1, 2, 3, 4]
    assert (found[0].kind, found[1].kind) == (EventKind.RESET, EventKind.BLOCK)
    assert (found[1].job, found[1].numbers) == (7, (3,))
    first, second = service.opened
    assert (first.url.path, first.headers.get("last-event-id")) == ("/v1/jobs/7/events", None)
    assert second.headers["last-event-id"] == "3"


def test_all_events_go_on_after_a_number() -> None:
    service = scripted(ok(TUNE_RUNNING))
    service.streams = [iter([GREETING, sent(42)])]
    assert next(service.client().events(after=41)).id == 42
    assert service.opened[0].url.path == "/v1/events"
    assert service.opened[0].headers["last-event-id"] == "41"


def test_a_kind_that_only_a_newer_service_knows_asks_to_read_everything() -> None:
    service = scripted(ok(TUNE_RUNNING))
    service.streams = [iter([GREETING, sent(5, "drift")])]
    assert next(service.client().events()).kind is EventKind.RESET


def test_events_of_an_unknown_job_and_of_a_service_that_stays_away_are_errors() -> None:
    service = scripted(ok(TUNE_RUNNING))
    with pytest.raises(NotFound):
        next(service.client().events(7))
    service.streams = [httpx.ConnectError] * 100
    with pytest.raises(Unavailable, match="nothing answers"):
        next(service.client().events(7))
    assert 60 <= service.now <= 64
