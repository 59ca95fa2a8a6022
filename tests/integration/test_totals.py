"""Totals: each transaction adds what it has done, once, and a recount of all rows agrees."""

from dataclasses import replace
from functools import partial

import psycopg
import pytest
from sqlalchemy import select

from tests import builders, finished_jobs
from tests.integration.test_store import START, create, in_threads, once, plan, trial
from tuner.nouns.model import (
    Counted,
    Doubt,
    Fail,
    Failure,
    FailureCode,
    JobId,
    JobState,
    Measure,
    MeasurementId,
    MeasurementResult,
    OpenJobs,
    Phase,
)
from tuner.store.db import Store, make_engine
from tuner.store.db.events import _OPEN
from tuner.store.db.jobs import AHEAD
from tuner.store.db.tables import jobs

_ENDED = """
FROM measurements JOIN jobs ON jobs.id = measurements.job_id
WHERE measurements.state IN ('complete', 'failed')
"""
_FOUND = """
FROM windows
JOIN measurements ON measurements.id = windows.measurement_id
JOIN jobs ON jobs.id = measurements.job_id
"""
_RECOUNT = (
    """
    'jobs_ended', pool, jsonb_build_object(
        'kind', kind, 'state', state, 'verdict', coalesce(verdict, 'none')
    ), count(*)
    FROM jobs WHERE state IN ('succeeded', 'failed', 'cancelled')
    """,
    "'jobs_started', pool, '{}'::jsonb, count(*) FROM jobs WHERE started_at IS NOT NULL",
    """
    'waited_s', pool, '{}'::jsonb, sum(extract(epoch FROM started_at - created_at))
    FROM jobs WHERE started_at IS NOT NULL
    """,
    f"""
    'blocks', pool, jsonb_build_object(
        'phase', measurements.phase, 'state', measurements.state
    ), count(*)
    {_ENDED} AND measurements.kind = 'block'
    """,
    f"""
    'measured_s', pool, '{{}}'::jsonb,
    sum(extract(epoch FROM measurements.finished_at - measurements.started_at)) {_ENDED}
    """,
    f"'load_s', pool, '{{}}'::jsonb, sum(coalesce((result ->> 'load_s')::float, 0)) {_ENDED}",
    f"'windows', pool, '{{}}'::jsonb, count(*) {_FOUND}",
    f"""
    'doubts', pool, jsonb_build_object('doubt', doubt), count(*)
    {_FOUND}, unnest(doubts) AS doubt
    """,
    """
    'host_faults', pool, '{}'::jsonb, sum(faults)
    FROM measurements JOIN jobs ON jobs.id = job_id WHERE faults > 0
    """,
)
"""What is counted, the pool, the labels, the value; and of which rows."""
FAILURE = Failure(code=FailureCode.NOT_READY, message="no answer")
DOUBTFUL = MeasurementResult(
    windows=(
        builders.window(0, index=0, doubts=(Doubt.THROTTLED, Doubt.NOISY_HOST)),
        builders.window(0, index=1, doubts=(Doubt.THROTTLED,)),
        builders.window(0, index=2),
    ),
    load_s=4.5,
)

Sums = dict[tuple[str, str, tuple[tuple[str, str], ...]], float]


def sums(store: Store) -> Sums:
    """All totals that are not 0."""
    return {
        (total.counted, total.pool, tuple(sorted(total.labels.items()))): total.value
        for total in store.activity().totals
        if total.value
    }


def total(store: Store, counted: Counted, pool: str = "default", **labels: str) -> float:
    return sums(store).get((counted, pool, tuple(sorted(labels.items()))), 0)


def started(store: Store, blocks: int) -> tuple[JobId, list[MeasurementId]]:
    """A running job and its blocks, which nobody has taken."""
    job_id = create(store)
    plans = tuple(plan(sequence, 0) for sequence in range(blocks))
    store.advance(job_id, once(START, Measure(plans=plans, trials=(trial(0),))))
    return job_id, [measurement.id for measurement in store.measurements(job_id)]


def worked(store: Store) -> None:
    """Jobs that ended in every way, and blocks too."""
    finished_jobs.stored(store, finished_jobs.recommendation())
    finished_jobs.stored(store, finished_jobs.recommendation(), pool="big")
    job_id, (good, bad, _) = started(store, 3)
    store.claim(good, "a")
    assert store.complete(good, 1, DOUBTFUL)
    store.claim(bad, "a")
    assert store.release(bad, 1, fault="the disk is gone") == 1
    store.claim(bad, "a")
    assert store.release(bad, 2, fault=None) == 1
    store.claim(bad, "a")
    assert store.fail(bad, 3, FAILURE)
    store.cancel(job_id)
    failing = create(store)
    store.advance(failing, once(START, Fail(failure=FAILURE)))
    finished_jobs.measured(store, create(store), blocks=3, windows=4)


def test_what_was_done_is_counted(postgres_store: Store) -> None:
    worked(postgres_store)
    found = partial(total, postgres_store)
    better = {"kind": "tune", "state": "succeeded", "verdict": "better"}
    none = {"kind": "tune", "verdict": "none"}
    assert found(Counted.JOBS_ENDED, **better) == found(Counted.JOBS_ENDED, "big", **better) == 1
    assert found(Counted.JOBS_ENDED, **none, state="cancelled") == 1
    assert found(Counted.JOBS_ENDED, **none, state="failed") == 1
    assert (found(Counted.JOBS_STARTED), found(Counted.JOBS_STARTED, "big")) == (4, 1)
    assert found(Counted.BLOCKS, phase=Phase.SEARCH, state="complete") == 4
    assert found(Counted.BLOCKS, phase=Phase.SEARCH, state="failed") == 1
    assert found(Counted.WINDOWS) == 3 + 3 * 4
    assert found(Counted.DOUBTS, doubt=Doubt.THROTTLED) == 2
    assert found(Counted.DOUBTS, doubt=Doubt.NOISY_HOST) == 1
    assert found(Counted.LOAD_S) == 4.5 + 3 * 10
    assert found(Counted.HOST_FAULTS) == 1


def test_seconds_are_those_between_the_times_of_the_rows(
    postgres_store: Store, database_url: str
) -> None:
    waiting = create(postgres_store)
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE jobs SET created_at = now() - interval '90 s'")
    steps = once(START, Measure(plans=(plan(1, 0),), trials=(trial(0),)))
    postgres_store.advance(waiting, steps)
    block = postgres_store.measurements(waiting)[0].id
    postgres_store.claim(block, "a")
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE measurements SET started_at = now() - interval '20 s'")
    postgres_store.complete(block, 1, replace(DOUBTFUL, load_s=12.0))
    assert total(postgres_store, Counted.WAITED_S) == pytest.approx(90, abs=5)
    assert total(postgres_store, Counted.MEASURED_S) == pytest.approx(20, abs=5)
    assert total(postgres_store, Counted.LOAD_S) == 12


def test_a_recount_of_all_rows_gives_the_same_totals(
    postgres_store: Store, database_url: str
) -> None:
    worked(postgres_store)
    kept = sums(postgres_store)
    assert {counted for counted, _, _ in kept} == set(Counted)
    with psycopg.connect(database_url) as connection:
        for sums_of in _RECOUNT:
            query = f"SELECT {sums_of} GROUP BY 2, 3".encode()
            for name, pool, labels, value in connection.execute(query).fetchall():
                key = (name, pool, tuple(sorted(labels.items())))
                assert kept.pop(key, 0) == pytest.approx(float(value)), key
    assert not kept, "totals that no row explains"


def test_a_write_that_comes_too_late_counts_nothing(postgres_store: Store) -> None:
    job_id, (block,) = started(postgres_store, 1)
    postgres_store.claim(block, "a")
    postgres_store.claim(block, "a")
    before = sums(postgres_store)
    assert not postgres_store.complete(block, 1, DOUBTFUL)
    assert not postgres_store.fail(block, 1, FAILURE)
    assert postgres_store.release(block, 1, fault="the disk is gone") == 0
    assert sums(postgres_store) == before
    assert postgres_store.complete(block, 2, DOUBTFUL)
    assert not postgres_store.complete(block, 2, DOUBTFUL), "the answer of the first was lost"
    assert total(postgres_store, Counted.WINDOWS) == 3
    assert postgres_store.cancel(job_id) == postgres_store.cancel(job_id)
    cancelled = {"kind": "tune", "state": "cancelled", "verdict": "none"}
    assert total(postgres_store, Counted.JOBS_ENDED, **cancelled) == 1


def test_what_ends_at_once_is_all_counted(postgres_store: Store) -> None:
    _, blocks = started(postgres_store, 6)
    waiting = [create(postgres_store) for _ in range(6)]
    for block in blocks:
        postgres_store.claim(block, "a")
    calls = [partial(postgres_store.complete, block, 1, DOUBTFUL) for block in blocks]
    cancels = [partial(postgres_store.cancel, job_id) for job_id in waiting]
    assert in_threads(*calls, *cancels) == []
    cancelled = {"kind": "tune", "state": "cancelled", "verdict": "none"}
    assert total(postgres_store, Counted.JOBS_ENDED, **cancelled) == 6
    assert total(postgres_store, Counted.WINDOWS) == 18
    assert total(postgres_store, Counted.DOUBTS, doubt=Doubt.THROTTLED) == 12


def test_open_jobs_have_their_number_and_the_age_of_the_oldest(
    postgres_store: Store, database_url: str
) -> None:
    assert postgres_store.activity().open_jobs == ()
    running, _ = started(postgres_store, 1)
    for _ in range(3):
        create(postgres_store)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE jobs SET created_at = now() - interval '1 minute' * id WHERE id > %s", [running]
        )
    found = {jobs.state: jobs for jobs in postgres_store.activity().open_jobs}
    oldest_s = found[JobState.QUEUED].oldest_s
    assert oldest_s == pytest.approx(60 * (running + 3), abs=5)
    assert found[JobState.QUEUED] == OpenJobs(
        pool="default", state=JobState.QUEUED, count=3, oldest_s=oldest_s
    )
    assert found[JobState.RUNNING].count == 1


def test_jobs_that_have_ended_are_not_read_for_the_queue(
    postgres_store: Store, database_url: str
) -> None:
    job_id = create(postgres_store)
    columns = "kind, app, pool, priority, state, phase, spec, request_sha256, started_at"
    with psycopg.connect(database_url, autocommit=True) as connection:
        copy = columns.replace(" state", " 'succeeded'").replace("started_at", "now()")
        connection.execute(
            f"INSERT INTO jobs ({columns})"  # noqa: S608
            f" SELECT {copy} FROM jobs, generate_series(1, 5000) WHERE jobs.id = {job_id}".encode()
        )
        connection.execute("ANALYZE jobs")
        engine = make_engine(database_url)
        for query in (_OPEN, select(AHEAD).where(jobs.c.id == job_id)):
            asked = query.compile(engine, compile_kwargs={"literal_binds": True})
            plan = str(connection.execute(f"EXPLAIN {asked}".encode()).fetchall())
            assert "ix_jobs_pool_open" in plan
            assert "Seq Scan on jobs" not in plan
        engine.dispose()
