"""Events on real PostgreSQL: none is missed, in whatever order transactions commit."""

import asyncio
import random
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager

import psycopg
import pytest
from sqlalchemy import Connection, Engine, text

from tests.builders import spec
from tests.finished_jobs import recommendation
from tests.integration.test_store import OUTCOME, START, create, once, plan, trial
from tuner.nouns.model import (
    EVENTS_KEPT,
    Event,
    EventKind,
    JobId,
    Measure,
    MeasurementResult,
    Settle,
    Succeed,
    TrialNumber,
)
from tuner.store.db import Store, events, host_alive, make_engine, new_events

Batches = AsyncGenerator[Sequence[Event]]
TRIAL = EventKind.TRIAL


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    found = make_engine(database_url)
    yield found
    found.dispose()


@asynccontextmanager
async def reader(url: str) -> AsyncIterator[Batches]:
    """A reader of the events of a database without any."""
    async with aclosing(new_events(url)) as batches:
        assert await anext(batches) == []
        yield batches


def write(connection: Connection, number: int) -> None:
    events.write_of_job(connection, JobId(1), {TRIAL: [number]})


def stored(url: str) -> list[Event]:
    """All events that are visible now."""

    async def first() -> Sequence[Event]:
        async with aclosing(new_events(url)) as batches:
            return await anext(batches)

    return [*asyncio.run(first())]


def changes(url: str, act: Callable[[], object]) -> list[tuple[str, tuple[int, ...]]]:
    """Kinds and numbers of the events that `act` writes."""
    before = len(stored(url))
    act()
    return [(event.kind.value, event.numbers) for event in stored(url)[before:]]


def test_a_reader_that_goes_on_does_not_miss_a_transaction_that_began_first_and_ended_last(
    engine: Engine, database_url: str
) -> None:
    async def read() -> None:
        async with reader(database_url) as batches:
            with engine.connect() as early, engine.connect() as late:
                write(early, 1)  # has the smaller number of the sequence
                write(late, 2)
                late.commit()
                (second,) = await anext(batches)
                assert second.numbers == (2,)
                early.commit()
                (first,) = await anext(batches)
                assert first.numbers == (1,)
                assert first.id > second.id

    asyncio.run(asyncio.wait_for(read(), 20))
    assert [event.numbers for event in stored(database_url)] == [(2,), (1,)]


def test_many_writers_at_once_are_all_read_once_and_in_order(
    engine: Engine, database_url: str
) -> None:
    writers, each = 8, 25

    def write_all(writer: int) -> None:
        draw = random.Random(writer)  # noqa: S311
        for number in range(each):
            with engine.connect() as connection:
                write(connection, writer * each + number)
                time.sleep(draw.choice([0, 0, 0.001, 0.01]))
                if draw.random() < 0.1:
                    connection.rollback()
                    write(connection, writer * each + number)
                connection.commit()

    async def read() -> list[Event]:
        found: list[Event] = []
        async with reader(database_url) as batches:
            for thread in threads:
                thread.start()
            async for batch in batches:
                found += batch
                if len(found) >= writers * each:
                    return found
        return found

    threads = [threading.Thread(target=write_all, args=(writer,)) for writer in range(writers)]
    found = asyncio.run(asyncio.wait_for(read(), 60))
    for thread in threads:
        thread.join()
    assert sorted(number for event in found for number in event.numbers) == [*range(writers * each)]
    numbers = [event.id for event in found]
    assert numbers == sorted(set(numbers))
    assert found == stored(database_url)


def test_a_client_that_hangs_in_its_transaction_keeps_nobody_waiting(
    engine: Engine, database_url: str
) -> None:
    with engine.connect() as hanging, engine.connect() as other:
        write(hanging, 1)
        other.execute(text("SET statement_timeout = '2s'"))
        write(other, 2)
        other.commit()
    assert [event.numbers for event in stored(database_url)] == [(2,)]


def test_a_commit_wakes_the_reader_and_a_poll_does_where_the_notification_is_lost(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def waited_s() -> float:
        async with reader(database_url) as batches:
            reading = asyncio.create_task(anext(batches))
            await asyncio.sleep(0.2)
            began = time.monotonic()
            with engine.begin() as connection:
                write(connection, 1)
            await reading
            with engine.begin() as connection:
                connection.execute(text("DELETE FROM events"))
            return time.monotonic() - began

    monkeypatch.setattr(events, "POLL_S", 60.0)
    assert asyncio.run(waited_s()) < 30.0
    monkeypatch.setattr(events, "POLL_S", 1.0)
    monkeypatch.setattr(events, "CHANNEL", "another")
    assert 0.2 < asyncio.run(waited_s()) < 30.0


def test_a_reader_that_loses_its_connection_goes_on_after_the_last_event(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "AGAIN_AFTER_S", 0.1)

    async def read() -> None:
        async with reader(database_url) as batches:
            for number in range(3):
                with engine.begin() as connection:
                    write(connection, number)
                (event,) = await anext(batches)
                assert event.numbers == (number,)
                _end_others(database_url)

    asyncio.run(asyncio.wait_for(read(), 30))


def _end_others(url: str) -> None:
    query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND query LIKE '%FROM events%'"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(query.encode())


def test_every_change_of_the_rows_writes_its_event_with_them(
    postgres_store: Store, database_url: str
) -> None:
    store = postgres_store
    jobs: list[JobId] = []

    def seen(act: Callable[[], object]) -> list[tuple[str, tuple[int, ...]]]:
        return changes(database_url, act)

    assert seen(lambda: jobs.append(create(store))) == [("job", ()), ("queue", ())]
    (job,) = jobs
    assert seen(lambda: store.advance(job, once(START))) == [("queue", ()), ("job", ())]
    measure = Measure(plans=(plan(1, 0), plan(2, 0)), trials=(trial(0),))
    assert seen(lambda: store.advance(job, once(measure))) == [("trial", (0,)), ("block", (1, 2))]
    first, *_ = [block.id for block in store.measurements(job)]
    assert seen(lambda: store.claim(first, "a")) == [("block", (1,))]
    assert seen(lambda: store.release(first, 1, fault=None)) == [("block", (1,))]
    assert seen(lambda: store.release(first, 1, fault=None)) == []
    store.claim(first, "a")
    assert seen(lambda: store.complete(first, 2, MeasurementResult())) == [("block", (1,))]
    assert seen(lambda: store.complete(first, 2, MeasurementResult())) == []
    settle = Settle(number=TrialNumber(0), outcome=OUTCOME)
    assert seen(lambda: store.advance(job, once(settle))) == [("trial", (0,))]
    succeed = Succeed(recommendation=recommendation())
    ended = [("job", ()), ("verdict", ()), ("queue", ())]
    assert seen(lambda: store.advance(job, once(succeed))) == ended
    other = create(store)
    assert seen(lambda: store.cancel(other)) == [("job", ()), ("queue", ())]
    assert seen(lambda: store.cancel(other)) == []
    assert {event.job for event in stored(database_url)} == {job, other, None}
    assert {event.pool for event in stored(database_url)} == {spec().pool, None}


def test_a_host_that_comes_and_its_problems_are_events_and_its_beat_is_none(
    postgres_store: Store, database_url: str
) -> None:
    def kinds(act: Callable[[], object]) -> set[str]:
        return {kind for kind, _ in changes(database_url, act)}

    def see(problem: str | None) -> Callable[[], None]:
        return lambda: postgres_store.see_host("a", "default", None, problem)

    def live() -> None:
        with host_alive(database_url, "b", "default") as liveness:
            liveness.register(3)
            assert kinds(liveness.beat) == set()

    assert kinds(see(None)) == {"host"}
    assert kinds(see(None)) == set()
    assert kinds(see("docker is away")) == {"host"}
    assert kinds(see("docker is away")) == set()
    assert kinds(see(None)) == {"host"}
    assert kinds(live) == {"host"}


def test_a_rollback_takes_its_events_along(engine: Engine, database_url: str) -> None:
    with engine.connect() as connection:
        write(connection, 1)
        connection.rollback()
    assert stored(database_url) == []


def test_the_sweep_keeps_the_newest_events(postgres_store: Store, database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO events (kind, job, numbers)"
            " SELECT 'block', 1, ARRAY[n] FROM generate_series(1, %s) AS n",
            (EVENTS_KEPT + 7,),
        )
    assert len(stored(database_url)) == EVENTS_KEPT
    postgres_store.recover("default")
    with psycopg.connect(database_url) as connection:
        query = "SELECT count(*), min(numbers[1]), max(numbers[1]) FROM events"
        assert connection.execute(query).fetchone() == (EVENTS_KEPT, 8, EVENTS_KEPT + 7)
    postgres_store.recover("default")
    assert len(stored(database_url)) == EVENTS_KEPT
