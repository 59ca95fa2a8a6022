"""Measurements on their way through a host. Every write names its attempt.

All lock the job before the measurement, so that a cancel and a result cannot deadlock.
"""

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    and_,
    func,
    insert,
    or_,
    select,
    update,
)

from tuner.db import jobs as job_rows
from tuner.db.hosts import living_workers
from tuner.db.ports import JobQueue
from tuner.db.rows import job_of, measurement_of, trial_of, window_row
from tuner.db.tables import hosts, jobs, measurements, trials, windows
from tuner.model import Claim, JobId, JobState, MeasurementId, MeasurementState, Window


def claim(connection: Connection, measurement_id: MeasurementId, host: str) -> Claim | None:
    """Take a measurement for `host`; None if it is over, or held by another host that lives."""
    job_row = _lock_job_of(connection, measurement_id)
    if job_row is None:
        return None
    taken = (
        update(measurements)
        .where(measurements.c.id == measurement_id, _may_be_taken_by(host))
        .values(
            state=MeasurementState.RUNNING,
            attempt=measurements.c.attempt + 1,
            host=host,
            worker_id=select(hosts.c.worker_id).where(hosts.c.name == host).scalar_subquery(),
            started_at=func.now(),
        )
        .returning(measurements)
    )
    row = connection.execute(taken).mappings().one_or_none()
    if row is None:
        return None
    job = job_of(job_row)
    job_rows.change(connection, job.id)
    wanted = select(trials).where(trials.c.job_id == job.id, trials.c.number.in_(row["arms"]))
    found = {trial.number: trial for trial in map(trial_of, connection.execute(wanted).mappings())}
    measurement = measurement_of(row)
    params = tuple(found[arm].params for arm in measurement.arms)
    return Claim(measurement=measurement, job=job, params=params)


def is_current(connection: Connection, measurement_id: MeasurementId, attempt: int) -> bool:
    """Whether the result of this attempt is still wanted."""
    query = select(measurements.c.id).where(_is_current(measurement_id, attempt))
    return connection.execute(query).one_or_none() is not None


def finish(
    connection: Connection,
    queue: JobQueue,
    measurement_id: MeasurementId,
    attempt: int,
    *,
    found: tuple[Window, ...] = (),
    **values: Any,
) -> bool:
    """Write the end of an attempt and have the job advance; False if the attempt is outdated."""
    job_row = _lock_job_of(connection, measurement_id)
    row = _write_if_current(connection, measurement_id, attempt, finished_at=func.now(), **values)
    if job_row is None or row is None:
        return False
    if found:
        rows = [window_row(measurement_id, row["arms"], window) for window in found]
        connection.execute(insert(windows), rows)
    job_rows.change(connection, JobId(job_row["id"]))
    queue.defer_advance(job_rows.raw(connection), JobId(job_row["id"]), job_row["pool"])
    return True


def release(
    connection: Connection, measurement_id: MeasurementId, attempt: int, fault: str | None
) -> int:
    """Give a measurement back; returns its count of host faults."""
    job_row = _lock_job_of(connection, measurement_id)
    values: dict[str, Any] = {"state": MeasurementState.QUEUED, "host": None, "worker_id": None}
    if fault is not None:
        values |= {"faults": measurements.c.faults + 1, "last_fault": fault}
    if _write_if_current(connection, measurement_id, attempt, **values) and job_row:
        job_rows.change(connection, JobId(job_row["id"]))
    faults = select(measurements.c.faults).where(measurements.c.id == measurement_id)
    return connection.execute(faults).scalar() or 0


def recover(connection: Connection, queue: JobQueue, pool: str) -> int:
    """Put work of workers that are gone, and work that is missing, into the queue; how many tasks.

    The queue and our rows change together, so tasks should never be missing. It happens when a
    worker hangs until others take over its task, and then comes back and ends that task.
    """
    raw = job_rows.raw(connection)
    # First who is busy, then who lives: a worker that registers in between is not taken for gone.
    gone = queue.busy_workers(raw, pool) - set(connection.execute(living_workers()).scalars())
    put_back = queue.put_back(raw, pool, gone) if gone else 0
    lost = _startable(connection, pool) - queue.waiting_measurements(raw)
    for measurement_id in sorted(lost):
        queue.defer_measure(raw, measurement_id, pool)
    stuck = _idle_jobs(connection, pool) - queue.waiting_jobs(raw)
    for job_id in stuck:
        queue.defer_advance(raw, job_id, pool)
    return put_back + len(lost) + len(stuck)


def _startable(connection: Connection, pool: str) -> set[MeasurementId]:
    """The pool's open measurements without a living worker."""
    query = (
        select(measurements.c.id)
        .join(jobs, jobs.c.id == measurements.c.job_id)
        .where(
            jobs.c.pool == pool,
            or_(measurements.c.state == MeasurementState.QUEUED, _is_lost()),
        )
    )
    return set(connection.execute(query).scalars())


def _idle_jobs(connection: Connection, pool: str) -> set[JobId]:
    """The pool's running job, else its oldest queued one, if it has no open measurement."""
    open_work = select(measurements.c.id).where(
        measurements.c.job_id == jobs.c.id,
        measurements.c.state.in_((MeasurementState.QUEUED, MeasurementState.RUNNING)),
    )
    first = (
        select(jobs.c.id)
        .where(jobs.c.pool == pool, jobs.c.state.in_((JobState.QUEUED, JobState.RUNNING)))
        .order_by(jobs.c.state.desc(), jobs.c.id)  # running stands before queued
        .limit(1)
        .scalar_subquery()
    )
    query = select(jobs.c.id).where(jobs.c.id == first, ~open_work.exists())
    return set(connection.execute(query).scalars())


def _lock_job_of(connection: Connection, measurement_id: MeasurementId) -> RowMapping | None:
    query = (
        select(jobs)
        .join(measurements, measurements.c.job_id == jobs.c.id)
        .where(measurements.c.id == measurement_id)
        .with_for_update(of=jobs)
    )
    return connection.execute(query).mappings().one_or_none()


def _write_if_current(
    connection: Connection, measurement_id: MeasurementId, attempt: int, **values: Any
) -> RowMapping | None:
    statement = (
        update(measurements)
        .where(_is_current(measurement_id, attempt))
        .values(values)
        .returning(measurements)
    )
    return connection.execute(statement).mappings().one_or_none()


def _is_current(measurement_id: MeasurementId, attempt: int) -> ColumnElement[bool]:
    """The fence: the attempt is the latest, and the measurement is neither ended nor cancelled."""
    return and_(
        measurements.c.id == measurement_id,
        measurements.c.attempt == attempt,
        measurements.c.state == MeasurementState.RUNNING,
    )


def _is_lost() -> ColumnElement[bool]:
    """The worker that runs it is gone."""
    return and_(
        measurements.c.state == MeasurementState.RUNNING,
        func.coalesce(measurements.c.worker_id, 0).not_in(living_workers()),
    )


def _may_be_taken_by(host: str) -> ColumnElement[bool]:
    """Waiting, or lost, or held by this host, whose worker does one thing at a time."""
    return or_(
        measurements.c.state == MeasurementState.QUEUED,
        and_(measurements.c.state == MeasurementState.RUNNING, measurements.c.host == host),
        _is_lost(),
    )
