"""Measurements on their way through a host. Every write carries the attempt that it belongs to.

Lock order is job before measurement everywhere, so that a cancel and a result cannot deadlock.
"""

from datetime import timedelta
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
from tuner.db.ports import JobQueue
from tuner.db.rows import Claim, job_of, measurement_of, trial_of, window_row
from tuner.db.tables import jobs, measurements, trials, windows
from tuner.model import JobId, JobState, MeasurementId, MeasurementState, Window

HEARTBEAT_IS_STALE_AFTER = timedelta(seconds=15)


def claim(connection: Connection, measurement_id: MeasurementId, host: str) -> Claim | None:
    """Take a measurement for `host`; None where it is not to be made, or not by this host."""
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
            started_at=func.now(),
            heartbeat_at=func.now(),
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


def beat(connection: Connection, measurement_id: MeasurementId, attempt: int) -> bool:
    """Say that this attempt lives; False where it is not wanted any more."""
    statement = (
        update(measurements)
        .where(_is_current(measurement_id, attempt))
        .values(heartbeat_at=func.now())
    )
    return connection.execute(statement).rowcount == 1


def finish(
    connection: Connection,
    queue: JobQueue,
    measurement_id: MeasurementId,
    attempt: int,
    *,
    found: tuple[Window, ...] = (),
    **values: Any,
) -> bool:
    """Write what came of an attempt and have the job advance; False where it was fenced off."""
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
    """Give a measurement back; how many faults of hosts it has met so far."""
    job_row = _lock_job_of(connection, measurement_id)
    values: dict[str, Any] = {"state": MeasurementState.QUEUED, "host": None, "heartbeat_at": None}
    if fault is not None:
        values |= {"faults": measurements.c.faults + 1, "last_fault": fault}
    if _write_if_current(connection, measurement_id, attempt, **values) and job_row:
        job_rows.change(connection, JobId(job_row["id"]))
    faults = select(measurements.c.faults).where(measurements.c.id == measurement_id)
    return connection.execute(faults).scalar() or 0


def take_orphans(connection: Connection, queue: JobQueue, host: str) -> list[MeasurementId]:
    """Put back what `host` was at when its worker died. Only for who holds the host's lock."""
    orphans = (
        update(measurements)
        .where(measurements.c.host == host, measurements.c.state == MeasurementState.RUNNING)
        .values(state=MeasurementState.QUEUED, host=None, heartbeat_at=None)
        .returning(measurements.c.id, measurements.c.job_id)
    )
    rows = connection.execute(orphans).all()
    ids = sorted(MeasurementId(row.id) for row in rows)
    for pool in sorted(_pools_of(connection, [row.job_id for row in rows])):
        requeue_lost(connection, queue, pool)
    return ids


def requeue_lost(connection: Connection, queue: JobQueue, pool: str) -> int:
    """Put into the queue what should be there and is not; how many that were.

    The queue and our rows change together, so nothing should ever be lost. A worker that comes
    back late and ends a queue job which another one runs by then is how it happens all the same.
    """
    raw = job_rows.raw(connection)
    queued = queue.waiting_measurements(raw)
    lost = [id_ for id_ in _startable(connection, pool) if id_ not in queued]
    for measurement_id in lost:
        queue.defer_measure(raw, measurement_id, pool)
    advancing = queue.waiting_jobs(raw)
    stuck = [id_ for id_ in _idle_jobs(connection, pool) if id_ not in advancing]
    for job_id in stuck:
        queue.defer_advance(raw, job_id, pool)
    return len(lost) + len(stuck)


def _startable(connection: Connection, pool: str) -> list[MeasurementId]:
    """Open measurements of the pool that no living worker is at."""
    query = (
        select(measurements.c.id)
        .join(jobs, jobs.c.id == measurements.c.job_id)
        .where(
            jobs.c.pool == pool,
            or_(measurements.c.state == MeasurementState.QUEUED, _is_stale()),
        )
        .order_by(measurements.c.id)
    )
    return [MeasurementId(id_) for id_ in connection.execute(query).scalars()]


def _idle_jobs(connection: Connection, pool: str) -> list[JobId]:
    """The pool's running job, else its oldest queued one, where no measurement is open."""
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
    return [JobId(id_) for id_ in connection.execute(query).scalars()]


def _pools_of(connection: Connection, job_ids: list[int]) -> set[str]:
    query = select(jobs.c.pool).where(jobs.c.id.in_(job_ids))
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
    """The fence: the attempt is the latest, and nobody has ended or called off the measurement."""
    return and_(
        measurements.c.id == measurement_id,
        measurements.c.attempt == attempt,
        measurements.c.state == MeasurementState.RUNNING,
    )


def _is_stale() -> ColumnElement[bool]:
    return and_(
        measurements.c.state == MeasurementState.RUNNING,
        measurements.c.heartbeat_at < func.now() - HEARTBEAT_IS_STALE_AFTER,
    )


def _may_be_taken_by(host: str) -> ColumnElement[bool]:
    """Waiting, or left behind: by this very host, or by another that fell silent."""
    return or_(
        measurements.c.state == MeasurementState.QUEUED,
        and_(measurements.c.state == MeasurementState.RUNNING, measurements.c.host == host),
        _is_stale(),
    )
