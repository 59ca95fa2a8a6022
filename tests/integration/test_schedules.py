"""Schedules on a real PostgreSQL, with the workers of procrastinate."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psycopg

from tests.integration.test_queue import Recording, wait_for, working
from tests.scheduled import answered, schedules, write_app
from tuner.nouns.model import JobState
from tuner.service.worker import Schedules
from tuner.store.db import Store

EVERY_SECOND = "* * * * * *"


class Looking(Recording):
    """A worker that looks at its schedules."""

    def __init__(self, own: Schedules) -> None:
        super().__init__()
        self._own = own

    def submit_due(self) -> None:
        self._own.submit_due()
        super().submit_due()


def looked(*hosts: Looking) -> Callable[[], bool]:
    """Whether the hosts, which share the looks, have had four of them."""
    return lambda: sum(host.seen.count(("submit_due", 0)) for host in hosts) >= 4


def work(url: str, *hosts: Looking) -> None:
    """Let the hosts work until they have looked four times."""
    with ExitStack() as stack:
        for name, host in zip("ab", hosts, strict=False):
            stack.enter_context(working(host, url, name, looks=EVERY_SECOND))
        wait_for(looked(*hosts))


def test_two_workers_submit_one_job_and_it_goes_to_the_queue(
    tmp_path: Path, database_url: str, postgres_store: Store
) -> None:
    write_app(tmp_path)
    hosts = [Looking(schedules(tmp_path, postgres_store)) for _ in range(2)]
    work(database_url, *hosts)
    (found,) = postgres_store.jobs()
    assert (found.app, found.priority, found.submitted_by) == ("shop", "nightly", "schedule")
    job = postgres_store.job(found.id)
    assert job.spec.because == ("there is no answer yet",)
    wait_for(lambda: ("advance", found.id) in hosts[0].seen + hosts[1].seen)


def test_without_a_reason_they_submit_none(
    tmp_path: Path, database_url: str, postgres_store: Store
) -> None:
    write_app(tmp_path)
    answered(tmp_path, postgres_store)
    work(database_url, *(Looking(schedules(tmp_path, postgres_store)) for _ in range(2)))
    assert [job.state for job in postgres_store.jobs()] == [JobState.SUCCEEDED]


def test_two_that_look_at_the_same_moment_submit_one_job(
    tmp_path: Path, postgres_store: Store
) -> None:
    write_app(tmp_path)
    together = threading.Barrier(2)

    class AtOnce:
        """The store, whose answers about open jobs come to both hosts before either submits."""

        def __getattr__(self, name: str) -> object:
            if name == "create_job":
                together.wait(20)
            return getattr(postgres_store, name)

    threads = [threading.Thread(target=schedules(tmp_path, AtOnce()).submit_due) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(postgres_store.jobs()) == 1


def test_a_look_that_was_cut_off_comes_again_and_submits_once(
    tmp_path: Path, database_url: str, postgres_store: Store
) -> None:
    write_app(tmp_path)
    host = Looking(schedules(tmp_path, postgres_store))
    host.submit_due()
    with psycopg.connect(database_url, autocommit=True) as connection:
        job = postgres_store.jobs()[0].id
        connection.execute("UPDATE jobs SET state = 'failed' WHERE id = %s", [job])
    work(database_url, Looking(schedules(tmp_path, postgres_store)))  # as after a restart
    assert len(postgres_store.jobs()) == 1


def test_an_answer_of_a_schedule_comes_back_from_the_database(
    tmp_path: Path, postgres_store: Store
) -> None:
    write_app(tmp_path)
    last = answered(tmp_path, postgres_store)
    own = schedules(tmp_path, postgres_store, image="sha256:1")
    own.submit_due()
    job = postgres_store.job(postgres_store.jobs()[0].id)
    assert job.spec.follows is not None
    assert job.spec.follows.job == last
    assert job.spec.follows.limits == postgres_store.job(last).spec.limits
    assert job.spec.because == (f"the image has changed since job {last}: sha256:1",)
