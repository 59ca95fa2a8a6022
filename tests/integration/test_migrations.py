"""The migrations make the tables that the code believes in, and can be taken back."""

import threading
from collections.abc import Mapping

import psycopg
import pytest
from sqlalchemy import CheckConstraint

from tests.builders import spec
from tuner.db import Store, make_engine, migrate
from tuner.db.rows import SPEC
from tuner.db.tables import metadata
from tuner.errors import Unavailable
from tuner.model import Histogram, JobId, JobKind, ServerFigures
from tuner.queue import Queue

FIRST_RELEASE = "20261121_queue"
NEWEST = "20261121_kinds"
OLD_SPEC = SPEC.dump_json(spec(), exclude={"kind": True, "variants": True}).decode()


OLD_WINDOW = """
INSERT INTO windows (
    measurement_id, "index", side, trial_number, started_at, duration_s, requests, errors,
    errors_by_class, throughput_rps, respawns, client_cpu, listen_overflows, time_wait, doubts
) VALUES (1, 0, 0, 0, now(), 1.0, 100, 0, '{}', 100.0, 0, 0.1, 0, 0, '{}')
"""


def relations(url: str) -> set[str]:
    query = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    with psycopg.connect(url) as connection:
        return {row[0] for row in connection.execute(query)} - {
            "alembic_version",
            "alembic_version_pkc",
        }


def checks(url: str) -> Mapping[str, str]:
    query = (
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE contype = 'c' AND conname LIKE 'ck_%'"
    )
    with psycopg.connect(url) as connection:
        return {name: text for name, text in connection.execute(query).fetchall()}


def test_the_tables_are_the_ones_that_the_code_describes(database_url: str) -> None:
    migrate.check(database_url)


def test_every_enum_is_held_by_its_check(database_url: str) -> None:
    """Alembic does not compare CHECK constraints, so this does, value by value."""
    found = checks(database_url)
    for table in metadata.sorted_tables:
        for constraint in table.constraints:
            if isinstance(constraint, CheckConstraint):
                values = str(constraint.sqltext).partition(" IN ")[2].strip("()").split(", ")
                text = found[str(constraint.name)]
                assert text.count("'::text") == len(values), constraint.name
                assert all(value in text for value in values), constraint.name


def test_up_down_and_up_again(empty_database_url: str) -> None:
    url = empty_database_url
    assert migrate.current(url) is None
    migrate.upgrade(url)
    assert migrate.current(url) == NEWEST
    both_ways = relations(url)
    migrate.downgrade(url, "base")
    assert relations(url) == set()
    migrate.upgrade(url)
    assert relations(url) == both_ways
    migrate.check(url)


def test_upgrading_twice_at_the_same_time(empty_database_url: str) -> None:
    failures: list[Exception] = []

    def upgrade() -> None:
        try:
            migrate.upgrade(empty_database_url)
        except Exception as error:  # noqa: BLE001  handed to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=upgrade) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert migrate.current(empty_database_url) == NEWEST


def test_rows_of_the_first_release_read_as_they_were(empty_database_url: str) -> None:
    url = empty_database_url
    migrate.upgrade(url, FIRST_RELEASE)
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO jobs (app, pool, state, phase, spec, request_sha256) "
            "VALUES ('shop', 'default', 'running', 'search', %s, 'x')",
            [OLD_SPEC],
        )
        connection.execute(
            "INSERT INTO measurements (job_id, sequence, kind, phase, sides, state, result) "
            "VALUES (1, 0, 'block', 'search', '{0}', 'complete', %s)",
            ['{"windows": [], "setup_s": 1.0, "load_s": 2.0, "ready_s": [], "ini_sha256": []}'],
        )
        connection.execute(OLD_WINDOW)
    migrate.upgrade(url)
    engine = make_engine(url)
    store = Store(engine, Queue())
    job = store.job(JobId(1))
    assert (job.spec.kind, job.spec, job.report) == (JobKind.TUNE, spec(), None)
    (window,) = store.measurements(job.id)[0].windows
    assert (window.requests, window.sent, window.series) == (100, 0, ())
    assert (window.server, window.histogram) == (ServerFigures(), Histogram())
    engine.dispose()


def test_going_back_takes_along_what_the_first_release_cannot_read(empty_database_url: str) -> None:
    url = empty_database_url
    migrate.upgrade(url)
    engine = make_engine(url)
    store = Store(engine, Queue())
    for kind in (JobKind.TUNE, JobKind.COMPARE):
        store.create_job(spec(kind=kind), idempotency_key=None, request_sha256="x")
    engine.dispose()
    migrate.downgrade(url, FIRST_RELEASE)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT id FROM jobs").fetchall() == [(1,)]


def test_a_database_without_tables_says_what_to_do(empty_database_url: str) -> None:
    engine = make_engine(empty_database_url)
    with pytest.raises(Unavailable, match="run `tuner db upgrade`"):
        Store(engine, Queue()).ping()
    engine.dispose()
