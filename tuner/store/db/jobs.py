"""One job: read, lock, change, finish; the next job of a pool."""

from typing import Any

from sqlalchemy import Connection, RowMapping, func, select, update

from tuner.nouns.errors import LimitReached, NotFound
from tuner.nouns.model import (
    Counted,
    EventKind,
    History,
    Job,
    JobId,
    JobState,
    MeasurementState,
    Total,
    end_of_job,
    too_many_waiting,
)
from tuner.store.db import events, totals
from tuner.store.db.hosts import slots
from tuner.store.db.ports import JobQueue
from tuner.store.db.rows import noun_of
from tuner.store.db.tables import is_open_work, jobs, measurements
from tuner.store.db.turns import AHEAD, next_of

_POOL_LOCKS = 7_801  # first key of our advisory locks on pools
_SUBMITTER_LOCKS = 7_805  # not that of hosts: a key may have the name of a worker


def raw(connection: Connection) -> Any:
    """psycopg's own connection: with it the queue writes in our transaction."""
    return connection.connection.driver_connection


def read_row(connection: Connection, job_id: JobId, *, lock: bool = False) -> RowMapping:
    """The row of a job; `lock` keeps others from changing it until the transaction ends.

    Raises `NotFound`.
    """
    query = select(jobs).where(jobs.c.id == job_id)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFound(f"there is no job {job_id}")
    return row


def read(connection: Connection, job_id: JobId, *, lock: bool = False) -> Job:
    """One job, as `read_row` reads it. Raises `NotFound`."""
    return noun_of(Job, read_row(connection, job_id, lock=lock))


def lock_unchanged(connection: Connection, history: History) -> bool:
    """Lock a job until the transaction ends; False if it has changed since `history` was read."""
    job = history.job
    query = select(jobs.c.id).where(jobs.c.id == job.id, jobs.c.revision == history.revision)
    if connection.execute(query.with_for_update()).one_or_none() is None:
        return False
    if job.state is not JobState.QUEUED:
        return True
    lock_pool(connection, job.spec.pool)
    return may_start(connection, job.id) == history.may_start


def may_start(connection: Connection, job_id: JobId) -> bool:
    """Whether the pool has a host for the job beside those for the jobs ahead of it."""
    query = select(slots(jobs.c.pool) > AHEAD).where(jobs.c.id == job_id)
    return connection.execute(query).scalar_one()


def lock_pool(connection: Connection, pool: str) -> None:
    """One transaction at a time may ask whether a host is free, or which job is next.

    Otherwise a new job could ask while a running job ends: the new one still sees the other
    running, the other does not see the new one waiting, and no task ever starts it.
    """
    connection.execute(select(func.pg_advisory_xact_lock(_POOL_LOCKS, func.hashtext(pool))))


def require_few_waiting(connection: Connection, by: str | None, most: int) -> None:
    """Raise `LimitReached` if more jobs of `by` wait, one that is just made included.

    One transaction of theirs at a time: two new jobs would not see each other.
    """
    lock = func.pg_advisory_xact_lock(_SUBMITTER_LOCKS, func.hashtext(by or ""))
    connection.execute(select(lock))
    theirs = jobs.c.submitted_by.is_not_distinct_from(by)
    waiting = select(func.count()).where(jobs.c.state == JobState.QUEUED, theirs)
    if connection.execute(waiting).scalar_one() > most:
        raise LimitReached(too_many_waiting(by, most))


def change(connection: Connection, job_id: JobId, changed: events.Changed, **values: Any) -> None:
    """Write columns of a job, raise its revision, and write the events of what has changed."""
    values["revision"] = jobs.c.revision + 1
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(values))
    events.write_of_job(connection, job_id, changed)


def finish(connection: Connection, queue: JobQueue, job: Job, **values: Any) -> None:
    """Make a job final, cancel its open measurements, and wake the pool's next job.

    The last statements of their transaction: see `tuner.store.db.totals`.
    """
    changed: events.Changed = {EventKind.JOB: ()}
    if values["state"] is JobState.SUCCEEDED:
        changed = {**changed, EventKind.VERDICT: ()}
    change(connection, job.id, changed, finished_at=func.now(), **values)
    events.write_of_pool(connection, job.spec.pool, EventKind.QUEUE)
    connection.execute(
        update(measurements)
        .where(measurements.c.job_id == job.id, is_open_work)
        .values(state=MeasurementState.CANCELLED, finished_at=func.now())
    )
    wake_next(connection, queue, job.spec.pool)
    labels = end_of_job(job.spec.kind, values["state"], values.get("verdict"))
    totals.add(connection, [Total(counted=Counted.JOBS_ENDED, pool=job.spec.pool, labels=labels)])


def wake_next(connection: Connection, queue: JobQueue, pool: str) -> None:
    """Have the next job of a pool start if there is a host for it."""
    lock_pool(connection, pool)
    next_id = next_of(connection, pool)
    if next_id is not None and may_start(connection, next_id):
        queue.defer_advance(raw(connection), next_id, pool)
