"""The migrations make the tables that the code believes in, and can be taken back."""

import json
import threading
from collections.abc import Mapping
from typing import Any

import psycopg
import pytest
from sqlalchemy import CheckConstraint

from tests.builders import spec
from tuner.db import Store, make_engine, migrate
from tuner.db.rows import SPEC
from tuner.db.tables import metadata
from tuner.errors import Unavailable
from tuner.model import (
    AS_BUDGETED,
    BASELINE,
    Aim,
    BlockOptions,
    Enter,
    Histogram,
    JobId,
    JobKind,
    Measure,
    MeasurementKind,
    Metric,
    Objective,
    Origin,
    Phase,
    Plan,
    ServerFigures,
    Slo,
    Step,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.queue import Queue

FIRST_RELEASE = "20261121_queue"
KINDS = "20261121_kinds"
NEWEST = "20261121_search"
SINCE_KINDS: dict[str, Any] = {
    "sampler": True,
    "seeds": True,
    "objective": {"also"},
    "slo": {"throughput_rps"},
    "budget": {"race", "race_blocks", "ablate_runs"},
}
SPEC_OF_KINDS = SPEC.dump_json(spec(), exclude=SINCE_KINDS).decode()
OLD_SPEC = SPEC.dump_json(spec(), exclude={"kind": True, "variants": True, **SINCE_KINDS}).decode()


OLD_WINDOW = """
INSERT INTO windows (
    measurement_id, "index", arm, trial_number, started_at, duration_s, requests, errors,
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
            "INSERT INTO measurements (job_id, sequence, kind, phase, arms, state, result) "
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


def test_going_back_before_the_search_leaves_what_can_be_read_there(
    empty_database_url: str,
) -> None:
    url = empty_database_url
    migrate.upgrade(url)
    engine = make_engine(url)
    store = Store(engine, Queue())
    unknown = (
        {"objective": Objective(maximize=Metric.RPS_PER_CPU)},
        {
            "objective": Objective(
                minimize=Metric.MEMORY_MB, also=(Aim(minimize=Metric.LATENCY_P95_MS),)
            )
        },
        {"slo": Slo(throughput_rps=100.0)},
    )
    for changes in ({}, *unknown):
        store.create_job(spec(**changes), idempotency_key=None, request_sha256="x")
    planned = Plan(
        sequence=0,
        kind=MeasurementKind.BLOCK,
        phase=Phase.SEARCH,
        arms=(BASELINE,),
        block_options=BlockOptions(cycles=1),
    )
    trials = tuple(
        Trial(
            number=TrialNumber(number),
            params={"processes": number},
            origin=origin,
            state=TrialState.RUNNING,
        )
        for number, origin in enumerate(Origin)
    )
    steps: list[Step] = [Enter(phase=Phase.PREPARE), Measure(plans=(planned,), trials=trials)]
    store.advance(JobId(1), lambda _: steps.pop(0) if steps else None)
    engine.dispose()
    migrate.downgrade(url, KINDS)
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT id, spec::text FROM jobs").fetchall()
        assert [job_id for job_id, _ in rows] == [1]
        assert json.dumps(json.loads(rows[0][1])) == json.dumps(json.loads(SPEC_OF_KINDS))
        origins = connection.execute("SELECT origin FROM trials ORDER BY number").fetchall()
        assert {origin for (origin,) in origins} == {"baseline", "heuristic", "sampler", "given"}
    migrate.upgrade(url)
    engine = make_engine(url)
    store = Store(engine, Queue())
    assert store.job(JobId(1)).spec == spec()
    assert [m.block_options for m in store.measurements(JobId(1))] == [AS_BUDGETED]
    engine.dispose()


def test_a_database_without_tables_says_what_to_do(empty_database_url: str) -> None:
    engine = make_engine(empty_database_url)
    with pytest.raises(Unavailable, match="run `tuner db upgrade`"):
        Store(engine, Queue()).ping()
    engine.dispose()
