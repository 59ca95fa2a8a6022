"""What goes from the store: a job that is deleted, and what is old."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, func, select, update

from tests import builders, finished_jobs
from tests.fake_store import FakeStore
from tests.killable_worker import worker_on
from tests.postgres import fresh_database
from tests.stores import STORES, AnyStore, store_of
from tests.unit.cli.conftest import run
from tuner.nouns.errors import Conflict, NotFound
from tuner.nouns.model import (
    Checker,
    JobId,
    MeasurementResult,
    NewCheck,
    Phase,
    Succeed,
)
from tuner.service.worker import prune
from tuner.store.db import Store, make_engine
from tuner.store.db.tables import jobs, links, measurements, trials, windows
from tuner.store.queue import Queue

DAY = timedelta(days=1)


@pytest.fixture(params=STORES)
def any_store(request: pytest.FixtureRequest) -> Iterator[AnyStore]:
    with store_of(request.param) as found:
        yield found


@pytest.fixture
def engine() -> Iterator[Engine]:
    with fresh_database() as url:
        engine = make_engine(url)
        yield engine
        engine.dispose()


@pytest.fixture
def store(engine: Engine) -> Store:
    return Store(engine, Queue())


def new_job(store: AnyStore, key: str | None = None) -> JobId:
    made = store.create_job(builders.spec(), idempotency_key=key, request_sha256="")
    return made[0].job.id


def test_a_job_that_has_ended_can_be_deleted_and_its_number_is_not_used_again(
    any_store: AnyStore,
) -> None:
    kept, deleted = new_job(any_store), new_job(any_store, "a key")
    any_store.share(deleted, "token", None)
    with pytest.raises(Conflict, match="is queued: cancel it first"):
        any_store.delete_job(deleted)
    any_store.cancel(deleted)
    any_store.delete_job(deleted)
    for call in (any_store.job, any_store.status, any_store.trials, any_store.delete_job):
        with pytest.raises(NotFound):
            call(deleted)
    with pytest.raises(NotFound):
        any_store.shared_job("token")
    assert [job.id for job in any_store.jobs()] == [kept]
    assert new_job(any_store, "a key") > deleted


@pytest.mark.real
class TestInPostgreSQL:
    """What the store in memory leaves out."""

    def test_of_a_deleted_job_no_row_is_left_and_a_task_that_waits_does_no_harm(
        self, store: Store, engine: Engine
    ) -> None:
        job_id = new_job(store)
        finished_jobs.measured(store, job_id, blocks=2)
        store.share(job_id, "token", None)
        store.cancel(job_id)
        store.delete_job(job_id)
        assert set(rows_of(engine).values()) == {0}
        worker_on(store).advance(job_id)

    def test_a_block_of_a_deleted_job_is_not_wanted_any_more(self, store: Store) -> None:
        job_id = new_job(store)
        finished_jobs.planned(store, job_id, blocks=1)
        (made,) = store.measurements(job_id)
        claim = store.claim(made.id, "bench-1")
        assert claim is not None
        attempt = claim.measurement.attempt
        store.cancel(job_id)
        store.delete_job(job_id)
        assert not store.is_current(made.id, attempt)
        assert not store.complete(made.id, attempt, MeasurementResult(windows=()))
        assert store.release(made.id, attempt, fault="late") == 0
        assert store.claim(made.id, "bench-1") is None

    def test_old_windows_go_and_the_answer_stays(self, store: Store, engine: Engine) -> None:
        job_id = answered(store, blocks=3)
        confirmed = [b for b in store.measurements(job_id) if b.phase == Phase.CONFIRM]
        before = store.job(job_id)
        assert store.prune_windows(DAY) == 0  # it has just ended
        let_pass(engine, 2 * DAY)
        version = store.version(job_id)
        assert store.prune_windows(DAY) == 1
        assert store.prune_windows(DAY) == 0
        after = store.job(job_id)
        assert after.recommendation == before.recommendation
        assert after.pruned_at is not None
        assert store.version(job_id) != version  # a poll gets the new answer
        left = store.measurements(job_id)
        assert {b.phase for b in left if b.windows} == {Phase.CONFIRM}
        without_series = [replace(w, series=()) for b in confirmed for w in b.windows]
        assert [w for b in left for w in b.windows] == without_series

    def test_old_jobs_go_but_for_what_pipelines_ask_for(self, store: Store, engine: Engine) -> None:
        _, checked, newest = (answered(store, blocks=1) for _ in range(3))
        failed, other = new_job(store), new_job(store)
        store.cancel(failed)
        check = NewCheck(checker=Checker.GATE, job=checked, holds=True, said="holds")
        store.report_check(store.job(checked).spec.app, check)
        let_pass(engine, 2 * DAY)
        assert store.prune_jobs(3 * DAY) == 0
        assert store.prune_jobs(DAY) == 2
        assert {job.id for job in store.jobs()} == {checked, newest, other}
        assert store.prune_jobs(DAY) == 0

    def test_the_command_says_what_has_gone(
        self,
        store: Store,
        engine: Engine,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        for _ in range(3):
            answered(store, blocks=1)
        let_pass(engine, 100 * DAY)
        url = engine.url.render_as_string(hide_password=False)
        monkeypatch.setenv("TUNER_DATABASE_URL", url)
        ages = ["--older-than", "90d", "--jobs-older-than", "99d"]
        assert run("db", "prune", *ages, "--compact") == 0
        first, second = capsys.readouterr().out.splitlines()
        assert first == "old windows and series removed: of 1 job"
        assert re.fullmatch(r"deleted: 2 jobs; the database has \d+ MB", second)

    def test_what_was_removed_can_be_given_back_to_the_disk(self, store: Store) -> None:
        job_id = new_job(store)
        finished_jobs.measured(store, job_id, blocks=100, windows=8)
        store.cancel(job_id)
        full = store.size_mb()
        store.delete_job(job_id)
        store.compact()
        assert store.size_mb() < full - 0.5


def answered(store: Store, *, blocks: int) -> JobId:
    """A job with the windows of a search, those of its confirmation, and an answer."""
    job_id = new_job(store)
    for phase in (Phase.SEARCH, Phase.CONFIRM):
        finished_jobs.measured(store, job_id, blocks=blocks, phase=phase)
    steps = [Succeed(recommendation=finished_jobs.recommendation())]
    store.advance(job_id, lambda _: steps.pop() if steps else None)
    return job_id


def let_pass(engine: Engine, time: timedelta) -> None:
    """Make all jobs that have ended so much older."""
    with engine.begin() as connection:
        older = jobs.c.finished_at - time
        connection.execute(update(jobs).values(finished_at=older))


def rows_of(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (jobs, trials, measurements, windows, links)
        }


def test_a_worker_removes_what_its_settings_do_not_keep() -> None:
    asked: list[tuple[str, timedelta]] = []

    class Rows(FakeStore):
        def prune_windows(self, age: timedelta) -> int:
            asked.append(("windows", age))
            return 1

        def prune_jobs(self, age: timedelta) -> int:
            asked.append(("jobs", age))
            return 0

    for windows_kept, jobs_kept in ((None, None), (DAY, None), (DAY, 9 * DAY)):
        prune(Rows(), windows_kept, jobs_kept)
    assert asked == [("windows", DAY), ("jobs", 9 * DAY), ("windows", DAY)]
