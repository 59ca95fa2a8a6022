"""When each job of a queue is expected to start, on pools of one host and of several."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.integration.test_placing import end, hosts, started
from tests.integration.test_store import fall_silent
from tests.unit.api.fakes import Api
from tuner.nouns.model import JobId
from tuner.service.pages import jobs
from tuner.service.pages.jobs import Open, open_jobs
from tuner.store.db import Store


def looked_at(store: Store) -> tuple[datetime, Sequence[Open]]:
    now = datetime.now(UTC)
    return now, open_jobs(replace(Api(store)._services, now=lambda: now))


def test_a_job_gets_the_host_that_is_free_first(postgres_store: Store, database_url: str) -> None:
    store = postgres_store
    with hosts(database_url, store, "a", "b"):
        jobs = [started(store) for _ in range(5)]
        now, found = looked_at(store)
    assert [each.job.id for each in found] == jobs
    first, second, third, fourth, fifth = found
    assert (first.starts_at, second.starts_at) == (None, None), "they run"
    assert first.ends_at
    assert second.ends_at
    assert now < first.ends_at
    assert [third.starts_at, fourth.starts_at] == sorted([first.ends_at, second.ends_at])
    assert third.ends_at
    assert third.starts_at
    assert (third.ends_at - third.starts_at).total_seconds() == third.job.size.takes_s
    assert fifth.starts_at == min(third.ends_at, fourth.ends_at or now)


@pytest.mark.parametrize("how", ["is drained", "is gone"])
def test_a_job_that_lost_its_host_goes_before_those_that_wait(
    postgres_store: Store, database_url: str, how: str
) -> None:
    store = postgres_store
    with hosts(database_url, store, "a", "b"):
        for _ in range(3):
            started(store)
        if how == "is drained":
            store.drain("a", by=None)
        else:
            fall_silent(database_url, "a")
        _, (first, second, third) = looked_at(store)
    assert first.starts_at == second.ends_at
    assert first.ends_at
    assert third.starts_at == first.ends_at


def test_a_host_is_free_at_the_end_of_its_job_however_many_run(
    postgres_store: Store, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_MOST", 1)
    store = postgres_store
    with hosts(database_url, store, "a", "b", "c"):
        for _ in range(4):
            started(store)
        _, (*running, waiting) = looked_at(store)
    assert waiting.starts_at == min(each.ends_at for each in running if each.ends_at)
    assert len(running) == 3


def test_a_free_host_takes_the_next_job_at_once(postgres_store: Store, database_url: str) -> None:
    store = postgres_store
    with hosts(database_url, store, "a"):
        running = started(store)
        waiting = started(store)
        end(store, running)
        now, found = looked_at(store)
    assert [(each.job.id, each.starts_at) for each in found] == [(waiting, now)]


def test_the_next_jobs_of_a_long_queue_are_the_ones_that_are_shown(
    postgres_store: Store, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.service.pages.jobs._MOST", 2)
    store = postgres_store
    with hosts(database_url, store, "a"):
        jobs = [started(store) for _ in range(4)]
        _, found = looked_at(store)
    assert [JobId(each.job.id) for each in found] == jobs[:3]


def test_without_a_host_nobody_can_say(postgres_store: Store, database_url: str) -> None:
    store = postgres_store
    first, second = started(store), started(store)
    _, found = looked_at(store)
    assert [(each.job.id, each.starts_at) for each in found] == [(first, None), (second, None)]
    with hosts(database_url, store, "a"):
        now, found = looked_at(store)
    assert [each.starts_at for each in found] == [now, found[0].ends_at]
