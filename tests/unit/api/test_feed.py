"""The feed of events in memory: nothing is missed, and nobody waits for a slow stream."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.sse import ServerSentEvent

from tests.unit.api.fakes import Api
from tuner.nouns.errors import NotFound, Unavailable
from tuner.nouns.model import Event, EventKind, JobId
from tuner.service.api import Feed

Messages = AsyncIterator[ServerSentEvent]
KEPT = 20


def event(number: int, job: int = 7) -> Event:
    return Event(id=number, kind=EventKind.BLOCK, job=JobId(job), pool=None, numbers=(number,))


def every(event: Event) -> bool:
    return True


@dataclass
class Rows:
    """What a database would give: batches of events, when the test writes them."""

    batches: asyncio.Queue[Sequence[Event] | Exception] = field(default_factory=asyncio.Queue)

    async def read(self) -> AsyncGenerator[Sequence[Event]]:
        while True:
            batch = await self.batches.get()
            if isinstance(batch, Exception):
                raise batch
            yield batch

    async def write(self, *numbers: int, job: int = 7) -> None:
        """One batch, and time for the feed to take it."""
        await self.batches.put([event(number, job) for number in numbers])
        await asyncio.sleep(0.03)


def with_feed(act: Callable[[Feed, Rows], Awaitable[None]], **limits: Any) -> None:
    """Run a test beside a feed that has read the events 1 to 5."""

    async def run() -> None:
        rows = Rows()
        feed = Feed(rows.read, **{"kept": KEPT, **limits})
        async with feed.running():
            await rows.write(1, 2, 3, 4, 5)
            await feed.ready()
            await act(feed, rows)

    asyncio.run(asyncio.wait_for(run(), 20))


async def taken(messages: Messages, count: int) -> list[str | None]:
    """The ids of the next messages; of a `reset` its kind too. The greeting does not count."""
    found: list[str | None] = []
    async for message in messages:
        if message.comment is None:
            is_reset = message.event == EventKind.RESET
            found.append(f"reset {message.id}" if is_reset else message.id)
        if len(found) == count:
            break
    return found


async def rest(messages: Messages) -> list[str | None]:
    """What comes until the stream ends."""
    return [message.id async for message in messages]


def ids(numbers: Iterable[int]) -> list[str]:
    return [str(number) for number in numbers]


def test_a_new_stream_says_when_to_come_back_and_asks_to_read_the_rows() -> None:
    async def act(feed: Feed, rows: Rows) -> None:
        with feed.stream(every) as messages:
            greeting = await anext(messages)
            assert greeting.comment
            assert 1_000 <= (greeting.retry or 0) <= 3_000
            reset = await anext(messages)
            assert (reset.event, reset.id) == ("reset", "5")
            assert Event.model_validate_json(reset.raw_data or "").kind is EventKind.RESET
            await rows.write(6)
            message = await anext(messages)
            assert Event.model_validate_json(message.raw_data or "") == event(6)

    with_feed(act)


def test_a_stream_that_comes_back_gets_what_it_missed_and_then_what_is_new_each_once() -> None:
    async def act(feed: Feed, rows: Rows) -> None:
        with feed.stream(every, 2) as messages:
            assert await taken(messages, 3) == ids([3, 4, 5])
            await rows.write(6, 8)
            await rows.write(9)
            assert await taken(messages, 3) == ids([6, 8, 9])

    with_feed(act)


@pytest.mark.parametrize("last", [0, 3, 6, 7, 8, 1_000])
def test_a_number_that_is_no_longer_kept_or_not_known_is_answered_by_a_reset(last: int) -> None:
    """Of the events 1 to 31 the last 20 are kept: 12 to 31."""

    async def act(feed: Feed, rows: Rows) -> None:
        for number in range(6, 31):
            await rows.batches.put([event(number)])
        await rows.write(31)
        with feed.stream(every, last) as messages:
            assert await taken(messages, 1) == ["reset 31"]
            await rows.write(32)
            assert await taken(messages, 1) == ["32"]
        with feed.stream(every, 12) as messages:
            assert await taken(messages, 20) == ids(range(13, 33))

    with_feed(act)


def test_a_stream_has_the_wanted_events_only() -> None:
    async def act(feed: Feed, rows: Rows) -> None:
        def of_job_8(event: Event) -> bool:
            return event.job == 8

        with feed.stream(of_job_8, 5) as messages:
            await rows.write(6, 7)
            await rows.write(8, job=8)
            assert await taken(messages, 1) == ["8"]

    with_feed(act)


def test_a_slow_stream_ends_and_the_others_go_on() -> None:
    async def act(feed: Feed, rows: Rows) -> None:
        with feed.stream(every, 5) as slow, feed.stream(every, 5) as fast:
            await rows.write(6)
            assert await taken(slow, 1) == await taken(fast, 1) == ["6"]
            for number in range(7, 11):
                await rows.write(number)
                assert await taken(fast, 1) == ids([number])
            assert await rest(slow) == []
            await rows.write(11)
            assert await taken(fast, 1) == ["11"]
        with feed.stream(every, 6) as again:
            assert await taken(again, 5) == ids([7, 8, 9, 10, 11])

    with_feed(act, behind=3)


def test_where_the_rows_themselves_have_a_gap_every_stream_is_reset() -> None:
    async def act(feed: Feed, rows: Rows) -> None:
        with feed.stream(every, 5) as messages:
            await rows.write(6)
            assert await taken(messages, 1) == ["6"]
            await rows.write(*range(50, 50 + KEPT))
            assert await taken(messages, 1) == ["reset 69"]
        with feed.stream(every, 6) as messages:
            assert await taken(messages, 1) == ["reset 69"]
        with feed.stream(every, 49) as messages:
            assert await taken(messages, 2) == ["50", "51"]

    with_feed(act)


def test_at_the_end_of_the_process_all_streams_end() -> None:
    async def act(feed: Feed, rows: Rows) -> None:
        with feed.stream(every, 5) as messages:
            ending = asyncio.create_task(rest(messages))
            await asyncio.sleep(0.01)
            feed.stop()
            assert await ending == [None]  # the greeting
        with pytest.raises(Unavailable):
            await feed.ready()

    with_feed(act)


def test_after_a_fault_of_the_reader_events_are_read_again_and_it_is_said_meanwhile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def act(feed: Feed, rows: Rows) -> None:
        with feed.stream(every, 5) as messages:
            await rows.batches.put(ValueError("a bug"))
            await asyncio.sleep(0.03)
            with pytest.raises(Unavailable, match="no events are read"):
                feed.require_reading()
            await asyncio.sleep(0.2)
            await rows.write(4, 5, 6, 7)  # the newest, as at the first time
            feed.require_reading()
            assert await taken(messages, 2) == ["6", "7"]

    with_feed(act, again_s=0.1)
    assert "events are not read; trying again" in caplog.text


def test_before_the_first_reading_a_stream_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.service.api.services.READY_WITHIN_S", 0.01)

    async def act() -> None:
        feed = Feed(Rows().read)
        async with feed.running():
            with pytest.raises(Unavailable, match="postgresql"):
                await feed.ready()

    asyncio.run(act())


def test_without_events_there_are_no_streams() -> None:
    async def act() -> Any:
        feed = Feed()
        async with feed.running():
            await feed.ready()

    with pytest.raises(NotFound):
        asyncio.run(act())
    api = Api()
    path = api.submit().headers["location"]
    for address, why in {
        "/v1/events": "this service sends no events",
        f"{path}/events": "this service sends no events",
        "/v1/jobs/99/events": "there is no job 99",
    }.items():
        answer = api.get(address)
        assert (answer.status_code, answer.json()["detail"]) == (404, why)
