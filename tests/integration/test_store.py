"""What only the real store can show: transactions, locks, speed, and PostgreSQL going away."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from tests.builders import spec, window
from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.nouns.model import (
    Asked,
    Enter,
    Fail,
    Failure,
    FailureCode,
    History,
    JobId,
    JobState,
    Measure,
    MeasurementKind,
    MeasurementResult,
    Origin,
    Outcome,
    Phase,
    Plan,
    Priority,
    Settle,
    Step,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.store.db import Store, host_alive, make_engine
from tuner.store.queue import Queue

START = Enter(phase=Phase.PREPARE)
OUTCOME = Outcome(state=TrialState.COMPLETE, score=0.1, constraints={})


def once(*steps: Step) -> Callable[[History], Step | None]:
    left = list(steps)
    return lambda _: left.pop(0) if left else None


def start_if_free(history: History) -> Step | None:
    waits = history.job.state is JobState.QUEUED and history.may_start
    return START if waits else None


def create(store: Store) -> JobId:
    return store.create_job(spec(), idempotency_key=None, request_sha256="s")[0].job.id


def test_of_equal_requests_at_once_one_makes_the_job(postgres_store: Store) -> None:
    start = threading.Barrier(8)

    def submit(_: int) -> JobId:
        start.wait()
        asked = Asked(sha256="a", go_on=True)
        created = postgres_store.create_job(spec(), asked, idempotency_key=None, request_sha256="s")
        return created[0].job.id

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(submit, range(8)))) == 1
    assert len(postgres_store.jobs()) == 1


def trial(number: int) -> Trial:
    return Trial(
        number=TrialNumber(number),
        params={"processes": number},
        origin=Origin.SAMPLER,
        state=TrialState.RUNNING,
    )


def plan(sequence: int, *arms: int) -> Plan:
    return Plan(
        sequence=sequence,
        kind=MeasurementKind.BLOCK,
        phase=Phase.SEARCH,
        arms=tuple(TrialNumber(arm) for arm in arms),
    )


def queued(url: str) -> list[tuple[str, str, dict[str, Any]]]:
    query = "SELECT task_name, queue_name, args FROM procrastinate_jobs ORDER BY id"
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def forget_queue(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM procrastinate_jobs")


def test_the_queue_holds_what_the_rows_ask_for(postgres_store: Store, database_url: str) -> None:
    job_id = create(postgres_store)
    measure = Measure(plans=(plan(1, 0), plan(2, 0)), trials=(trial(0),))
    postgres_store.advance(job_id, once(START, measure))
    blocks = [measurement.id for measurement in postgres_store.measurements(job_id)]
    postgres_store.claim(blocks[0], "a")
    postgres_store.complete(blocks[0], 1, MeasurementResult())
    assert queued(database_url) == [
        ("advance", "pool-default", {"job_id": job_id}),
        ("measure", "pool-default", {"measurement_id": blocks[0], "host": None}),
        ("measure", "pool-default", {"measurement_id": blocks[1], "host": None}),
        ("advance", "pool-default", {"job_id": job_id}),
    ]


class Breaking(Queue):
    """Queues a measurement, and then fails."""

    def defer_measure(self, *task: Any) -> None:
        super().defer_measure(*task)
        raise ValueError("after the first")


def test_a_rollback_takes_the_queue_along(postgres_store: Store, database_url: str) -> None:
    job_id = create(postgres_store)
    postgres_store.advance(job_id, once(START))
    before = queued(database_url)
    engine = make_engine(database_url)
    measure = Measure(plans=(plan(1, 0), plan(2, 0)), trials=(trial(0),))
    with pytest.raises(ValueError, match="after the first"):
        Store(engine, Breaking()).advance(job_id, once(measure))
    engine.dispose()
    assert queued(database_url) == before
    assert postgres_store.trials(job_id) == ()
    assert postgres_store.measurements(job_id) == ()


def test_a_write_that_is_fenced_off_queues_nothing(
    postgres_store: Store, database_url: str
) -> None:
    job_id = create(postgres_store)
    measure = Measure(plans=(plan(1, 0),), trials=(trial(0),))
    postgres_store.advance(job_id, once(START, measure))
    before = queued(database_url)
    block = postgres_store.measurements(job_id)[0].id
    assert not postgres_store.complete(block, 1, MeasurementResult(windows=(window(),)))
    assert queued(database_url) == before


def test_the_end_of_a_job_wakes_the_pools_next(postgres_store: Store, database_url: str) -> None:
    first, second, _ = (create(postgres_store) for _ in range(3))
    postgres_store.advance(first, once(START))
    forget_queue(database_url)
    failure = Failure(code=FailureCode.NOT_READY, message="no")
    postgres_store.advance(first, once(Fail(failure=failure)))
    assert [row[2] for row in queued(database_url)] == [{"job_id": second}]


def test_the_end_of_a_job_wakes_an_interactive_one_before_a_nightly_one(
    postgres_store: Store, database_url: str
) -> None:
    running = create(postgres_store)
    postgres_store.advance(running, once(START))
    nightly = spec(priority=Priority.NIGHTLY)
    postgres_store.create_job(nightly, idempotency_key=None, request_sha256="")
    interactive = create(postgres_store)
    forget_queue(database_url)
    postgres_store.cancel(running)
    assert [row[2] for row in queued(database_url)] == [{"job_id": interactive}]


def test_the_next_job_is_started_again_where_its_task_was_lost(
    postgres_store: Store, database_url: str
) -> None:
    nightly = spec(priority=Priority.NIGHTLY)
    postgres_store.create_job(nightly, idempotency_key=None, request_sha256="")
    interactive = create(postgres_store)
    forget_queue(database_url)
    assert postgres_store.recover("default") == 1
    assert [row[2] for row in queued(database_url)] == [{"job_id": interactive}]


def test_the_same_params_twice_in_a_job_are_refused(postgres_store: Store) -> None:
    job_id = create(postgres_store)
    twice = replace(trial(0), number=TrialNumber(1))
    with pytest.raises(Exception, match="uq_trials_job_id_params_key"):
        postgres_store.advance(job_id, once(START, Measure(plans=(), trials=(trial(0), twice))))
    assert postgres_store.trials(job_id) == ()


def in_threads(*calls: Callable[[], object]) -> list[Exception]:
    failures: list[Exception] = []
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        barrier.wait()
        try:
            call()
        except Exception as error:  # noqa: BLE001  handed to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_one_job_of_a_pool_runs_however_many_start_at_once(postgres_store: Store) -> None:
    ids = [create(postgres_store) for _ in range(8)]
    calls = [partial(postgres_store.advance, id_, start_if_free) for id_ in reversed(ids)]
    assert in_threads(*calls) == []
    assert [job.id for job in postgres_store.jobs(state=JobState.RUNNING)] == [ids[0]]


def test_a_job_that_looks_while_the_one_before_ends_is_not_forgotten(
    postgres_store: Store, database_url: str
) -> None:
    """The ending job has looked for a next one before there was one, and is not committed yet."""
    engine = make_engine(database_url)
    looked, go = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        looked.set()
        go.wait(5)

    first = create(postgres_store)
    postgres_store.advance(first, once(START))
    event.listen(engine, "commit", hold)
    ending = threading.Thread(target=Store(engine, Queue()).cancel, args=(first,))
    ending.start()
    assert looked.wait(5)
    second = create(postgres_store)
    looking = threading.Thread(target=postgres_store.advance, args=(second, start_if_free))
    looking.start()
    looking.join(0.3)
    go.set()
    ending.join()
    looking.join()
    engine.dispose()
    assert postgres_store.job(second).state is JobState.RUNNING


def test_an_older_job_that_shows_while_a_younger_one_is_decided_starts_first(
    postgres_store: Store, database_url: str
) -> None:
    """Numbers of jobs are drawn before their rows are committed."""
    engine = make_engine(database_url)
    older, go = Store(engine, Queue()), threading.Event()
    drawn = threading.Event()

    def hold(_: object) -> None:
        drawn.set()
        go.wait(5)

    event.listen(engine, "commit", hold)
    creating = threading.Thread(target=create, args=(older,))
    creating.start()
    assert drawn.wait(5)
    younger = create(postgres_store)
    first = JobId(younger - 1)

    def decide(history: History) -> Step | None:
        if not go.is_set():
            go.set()
            creating.join()
            postgres_store.advance(first, start_if_free)
            return START
        return start_if_free(history)

    postgres_store.advance(younger, decide)
    engine.dispose()
    assert [job.id for job in postgres_store.jobs(state=JobState.RUNNING)] == [first]


def test_a_key_used_by_many_at_once_makes_one_job(postgres_store: Store) -> None:
    made: list[bool] = []

    def create_with_key() -> None:
        _, created = postgres_store.create_job(spec(), idempotency_key="k", request_sha256="s")
        made.append(created)

    assert in_threads(*[create_with_key] * 8) == []
    assert sorted(made) == [False] * 7 + [True]


def test_a_key_may_have_the_name_of_a_worker(postgres_store: Store, database_url: str) -> None:
    """Both names are locked: the worker's as long as it lives."""
    with host_alive(database_url, "ci", "default"):
        made, _ = postgres_store.create_job(
            spec(), idempotency_key=None, request_sha256="s", by="ci", most_waiting=1
        )
    assert made.job.submitted_by == "ci"


def test_results_and_a_cancel_at_once_do_not_deadlock(postgres_store: Store) -> None:
    for _ in range(10):
        job_id = create(postgres_store)
        plans = tuple(plan(sequence, 0) for sequence in range(1, 6))
        postgres_store.advance(job_id, once(START, Measure(plans=plans, trials=(trial(0),))))
        blocks = [measurement.id for measurement in postgres_store.measurements(job_id)]
        for block in blocks:
            postgres_store.claim(block, "a")
        completes = [
            partial(postgres_store.complete, block, 1, MeasurementResult()) for block in blocks
        ]
        assert in_threads(*completes, partial(postgres_store.cancel, job_id)) == []


def test_what_the_queue_lost_is_put_back(postgres_store: Store, database_url: str) -> None:
    job_id = create(postgres_store)
    forget_queue(database_url)
    assert postgres_store.recover("default") == 1, "the job's advance"
    postgres_store.advance(job_id, once(START, Measure(plans=(plan(1, 0),), trials=(trial(0),))))
    forget_queue(database_url)
    assert postgres_store.recover("other") == 0
    assert postgres_store.recover("default") == 1, "its measurement"
    assert postgres_store.recover("default") == 0
    block = postgres_store.measurements(job_id)[0].id
    with host_alive(database_url, "a", "default") as liveness:
        liveness.register(1)
        postgres_store.claim(block, "a")
        forget_queue(database_url)
        assert postgres_store.recover("default") == 0, "a living host holds it"
        fall_silent(database_url, "a")
        assert postgres_store.recover("default") == 1
        liveness.beat()
        assert postgres_store.claim(block, "b") is None, "it was only slow"
        fall_silent(database_url, "a")
        assert postgres_store.claim(block, "b") is not None


def fall_silent(url: str, host: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "UPDATE hosts SET last_seen = now() - interval '21 s' WHERE name = %s", [host]
        )


@pytest.mark.parametrize("blocks", [10, 150])
def test_the_history_of_a_job_is_read_in_a_few_statements(
    postgres_store: Store, database_url: str, blocks: int
) -> None:
    """It is read at every step of a job: as many statements for 900 windows as for 60."""
    job_id = create(postgres_store)
    trials = tuple(trial(number) for number in range(100))
    plans = tuple(plan(sequence, 0, sequence % 99 + 1) for sequence in range(blocks))
    postgres_store.advance(job_id, once(START, Measure(plans=plans, trials=trials)))
    windows = tuple(window(index % 2, index=index) for index in range(6))
    for measurement in postgres_store.measurements(job_id):
        postgres_store.claim(measurement.id, "a")
        postgres_store.complete(measurement.id, 1, MeasurementResult(windows=windows))
    statements: list[str] = []
    engine = make_engine(database_url)
    store = Store(engine, Queue())
    event.listen(engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    history = store.history(job_id)
    assert (len(history.trials), len(history.measurements)) == (100, blocks)
    assert sum(len(m.result.windows) for m in history.measurements if m.result) == 6 * blocks
    assert 1 <= len(statements) <= 6, statements
    statements.clear()
    store.advance(job_id, once(Settle(number=TrialNumber(1), outcome=OUTCOME)))
    engine.dispose()
    assert len(statements) <= 6 + 4, statements  # lock, trial, job, event


def test_a_server_that_is_away_is_called_so(tmp_path: Path) -> None:
    engine = make_engine(f"postgresql://tuner@/tuner?host={tmp_path}")
    with pytest.raises(Unavailable, match="postgresql is away") as caught:
        Store(engine, Queue()).ping()
    assert caught.value.system == "postgresql"
    engine.dispose()


def lose_all_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_lost_connections_are_replaced(postgres_store: Store, database_url: str) -> None:
    postgres_store.ping()
    lose_all_connections(database_url)
    postgres_store.ping()


def test_a_connection_lost_in_the_middle_is_unavailable(database_url: str) -> None:
    class Cut(Queue):
        def defer_advance(self, *task: Any) -> None:
            lose_all_connections(database_url)
            super().defer_advance(*task)

    engine = make_engine(database_url)
    store = Store(engine, Cut())
    with pytest.raises(Unavailable):
        create(store)
    assert store.jobs() == []
    engine.dispose()


def test_a_decision_needs_no_connection(postgres_store: Store, database_url: str) -> None:
    steps = once(START)

    def decide(history: History) -> Step | None:
        lose_all_connections(database_url)
        return steps(history)

    job_id = create(postgres_store)
    postgres_store.advance(job_id, decide)
    assert postgres_store.job(job_id).state is JobState.RUNNING


@pytest.mark.parametrize("url", ["nonsense", "sqlite:///x.db", "mysql://root@localhost/x"])
def test_another_kind_of_database_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="TUNER_DATABASE_URL"):
        make_engine(url)
