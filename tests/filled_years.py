"""A database as years leave it: few real jobs, copied in SQL with other numbers, apps and times.

The real study makes the templates on a host without containers, and the store writes them. So each
copy is a document that the service can answer with. Nothing was updated in place, as a host would
do: there are no dead rows.
"""

import random
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from tests import builders, finished_jobs
from tests.fake_bench import FakeLoad, FakeWorld
from tests.filled_rows import FAILURE, NEW, running_spec, step_on, throughput
from tests.postgres import as_superuser
from tests.unit.study.scenes import SPACE
from tuner.bench.measurement import LoadReading
from tuner.nouns.model import (
    EVENTS_KEPT,
    Budget,
    Checker,
    Fail,
    JobId,
    JobKind,
    JobSpec,
    NewCheck,
    Phase,
)
from tuner.service import bootstrap
from tuner.service.worker import Worker
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue

APPS = 40
POOL = "default"
OPEN_BLOCKS = 100
"""Blocks that the running job has planned and not measured."""

_BUDGET = Budget(
    trials=14,
    calibrate_blocks=3,
    race=4,
    race_blocks=4,
    ablate_runs=24,
    confirm_blocks=16,
    cycles=5,
    window_s=1.0,
)
# A template has its place among the templates; its job gets the place, its app another in a round.
_COPIES = (
    """
    CREATE TEMPORARY TABLE templates AS
    SELECT id AS template, row_number() OVER (ORDER BY id) - 1 AS place,
           max(id) OVER () + 1 AS first, count(*) OVER () AS in_a_round FROM jobs
    """,
    """
    CREATE TEMPORARY TABLE copies AS
    SELECT template, first + round * in_a_round + place AS id,
           (%(rounds)s - round) * interval '1 day' * %(days)s / %(rounds)s AS back,
           'app-' || lpad(((round + 5 * place) %% %(apps)s)::text, 2, '0') AS app
      FROM templates, generate_series(0, %(rounds)s - 1) AS round
    """,
    """
    INSERT INTO jobs (id, kind, app, pool, priority, state, phase, spec, facts, calibration,
                      finalist, recommendation, report, failure, verdict, request_sha256,
                      submitted_by, created_at, started_at, finished_at, revision)
           OVERRIDING SYSTEM VALUE
    SELECT copies.id, kind, copies.app, pool, priority, state, phase,
           replace(spec::text, to_json(jobs.app)::text, to_json(copies.app)::text)::json,
           facts, calibration, finalist, recommendation, report, failure, verdict, request_sha256,
           submitted_by, created_at - back, started_at - back, finished_at - back, revision
      FROM copies JOIN jobs ON jobs.id = template ORDER BY copies.id
    """,
    """
    INSERT INTO trials
    SELECT copies.id, number, params, params_key, origin, trials.state, outcome, score
      FROM copies JOIN trials ON job_id = template ORDER BY 1, 2
    """,
    """
    CREATE TEMPORARY TABLE copied AS
    SELECT measurements.id AS template, copies.id AS job_id, back,
           (SELECT max(id) FROM measurements)
           + row_number() OVER (ORDER BY copies.id, measurements.id) AS id
      FROM copies JOIN measurements ON job_id = copies.template
    """,
    """
    INSERT INTO measurements (id, job_id, sequence, kind, phase, arms, block_options, state,
                              attempt, faults, last_fault, host, started_at, finished_at, result,
                              failure) OVERRIDING SYSTEM VALUE
    SELECT copied.id, copied.job_id, sequence, kind, phase, arms, block_options, state, attempt,
           faults, last_fault, host, started_at - back, finished_at - back, result, failure
      FROM copied JOIN measurements ON measurements.id = template ORDER BY copied.id
    """,
    "CREATE UNIQUE INDEX ON copied (id)",
    "ANALYZE copied",
)
_AFTERWARDS = (
    "DELETE FROM jobs WHERE id IN (SELECT template FROM templates)",
    "DELETE FROM procrastinate_jobs",
    "DELETE FROM audit",
    """
    INSERT INTO audit (at, who, action, job, said)
    SELECT created_at, submitted_by, 'submit', id, app FROM jobs ORDER BY id
    """,
    "UPDATE totals SET value = value * %(rounds)s",
    "SELECT setval(pg_get_serial_sequence('jobs', 'id'), (SELECT max(id) FROM jobs))",
    """
    SELECT setval(pg_get_serial_sequence('measurements', 'id'), (SELECT max(id) FROM measurements))
    """,
)
_EVENTS = """
INSERT INTO events (kind, job, numbers)
SELECT 'block', job_id, ARRAY[sequence] FROM measurements ORDER BY id DESC LIMIT %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Years:
    """What the database has, and some of its jobs."""

    jobs: int
    trials: int
    windows: int
    newest: JobId  # of those that have ended, with an answer
    compared: JobId
    running: JobId
    queued: JobId  # the last one in the queue


def fill(url: str, *, trials: int, days: int, queued: int, budget: Budget = _BUDGET) -> Years:
    """Fill an empty database with about so many trials of jobs that ended within `days`.

    Beside them one job runs, and `queued` wait behind it. Statistics are as after autovacuum.
    """
    engine = make_engine(url)
    try:
        store = Store(engine, Queue())
        _make_templates(store, budget)
        _copy(url, trials, days)
        _open_jobs(store, queued)
        _checks(store)
    finally:
        engine.dispose()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_EVENTS.encode(), [EVENTS_KEPT])
        connection.execute("VACUUM (ANALYZE)")
    return seen(url)


def _make_templates(store: Store, budget: Budget) -> None:
    """Jobs of every kind that have ended in every way, with all that they measured."""
    for seed in (1, 2, 3):
        _measured(store, _tuning(budget, seed))
    compared = running_spec(Phase.COMPARE).model_copy(update={"app": "compared", "pool": POOL})
    calibrated = builders.spec(
        kind=JobKind.CALIBRATE, app="calibrated", search_space=None, budget=budget
    )
    _measured(store, compared)
    _measured(store, calibrated)
    failed = _measured(store, _tuning(budget, 4), most=8)
    left = [Fail(failure=FAILURE)]
    store.advance(failed, lambda _: left.pop() if left else None)
    store.cancel(_measured(store, _tuning(budget, 5), most=8))


def _tuning(budget: Budget, seed: int) -> JobSpec:
    return builders.spec(app=f"tuned-{seed}", budget=budget, search_space=SPACE, seed=seed)


def _measured(store: Store, spec: JobSpec, most: int | None = None) -> JobId:
    """A job that is measured to its end, or so many times."""
    made = store.create_job(spec, by="years", **NEW)[0].job
    world = FakeWorld(throughput=throughput, noise_sd=0.02, start_sd=0.01)
    worker = Worker(
        name="bench-1",
        pool=POOL,
        store=store,
        host=world.launcher,
        load=_Spread(world),
        decide=bootstrap.decide(),
    )
    times = 0
    while step_on(store, worker, made.id) and (most is None or times < most):
        times += 1
    return made.id


class _Spread(FakeLoad):
    """Requests take unlike times, so that a window has as large a histogram as a real one."""

    def drive(self, *arguments: Any) -> LoadReading:
        found = FakeLoad.drive(self, *arguments)
        draw = random.Random(found.requests)  # noqa: S311
        middle_ms = found.latency_p50_ms or 1.0
        times_ms = [middle_ms * draw.lognormvariate(0, 0.3) for _ in range(300)]
        return replace(found, histogram=builders.histogram(times_ms))


def _copy(url: str, trials: int, days: int) -> None:
    """In rounds of all templates; then the templates go."""
    with psycopg.connect(as_superuser(url), autocommit=True) as connection:
        # All rows are copied with those that they refer to: no need to look for each.
        connection.execute("SET session_replication_role = replica")
        of_a_round = connection.execute("SELECT count(*) FROM trials").fetchone()
        assert of_a_round is not None
        rounds = max(1, round(trials / of_a_round[0]))
        values = {"rounds": rounds, "days": days, "apps": APPS}
        for statement in _COPIES:
            connection.execute(statement.encode(), values)
        connection.execute(_copies_of_windows(connection).encode())
        connection.execute("SET session_replication_role = origin")
        for statement in _AFTERWARDS:
            connection.execute(statement.encode(), values)


def _copies_of_windows(connection: psycopg.Connection[Any]) -> str:
    """A column for each field of a window: the table says which there are."""
    query = "SELECT attname FROM pg_attribute WHERE attrelid = 'windows'::regclass AND attnum > 0"
    own = {"measurement_id": "copied.id", "started_at": "started_at - back"}
    names = [row[0] for row in connection.execute(query)]
    values = ", ".join(own.get(name, f'"{name}"') for name in names)
    columns = ", ".join(f'"{name}"' for name in names)
    return (
        f"INSERT INTO windows ({columns}) SELECT {values} FROM copied"  # noqa: S608
        ' JOIN windows ON measurement_id = template ORDER BY copied.id, "index"'
    )


def _open_jobs(store: Store, queued: int) -> None:
    """One that runs and has planned many blocks, and those that wait behind it."""
    store.see_host("bench-1", POOL, builders.FINGERPRINT, None)
    running = store.create_job(builders.spec(app="app-00"), **NEW)[0].job.id
    finished_jobs.planned(store, running, blocks=OPEN_BLOCKS)
    for number in range(queued):
        spec = builders.spec(app=f"app-{number % APPS:02}")
        store.create_job(spec, by="years", **NEW)


def _checks(store: Store) -> None:
    for app in store.apps():
        for answer in app.answers[:1]:
            store.report_check(
                app.app, NewCheck(checker=Checker.GATE, job=answer.job, holds=True, said="")
            )


def seen(url: str) -> Years:
    """What `fill` has left in a database."""
    with psycopg.connect(url) as connection:

        def one(query: str) -> int:
            row = connection.execute(query.encode()).fetchone()
            assert row is not None
            return int(row[0])

        newest = "SELECT max(id) FROM jobs WHERE state ="
        return Years(
            jobs=one("SELECT count(*) FROM jobs"),
            trials=one("SELECT count(*) FROM trials"),
            windows=one("SELECT count(*) FROM windows"),
            newest=JobId(one(f"{newest} 'succeeded' AND kind = 'tune'")),
            compared=JobId(one(f"{newest} 'succeeded' AND kind = 'compare'")),
            running=JobId(one(f"{newest} 'running'")),
            queued=JobId(one(f"{newest} 'queued'")),
        )
