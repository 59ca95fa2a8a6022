"""Measurements on their way through a host. Every write names its attempt.

All lock the job before the measurement, so that a cancel and a result cannot deadlock.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    and_,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from tuner.nouns.model import (
    Claim,
    Counted,
    EventKind,
    Failure,
    Job,
    JobId,
    MeasurementId,
    MeasurementResult,
    MeasurementState,
    Total,
    Window,
)
from tuner.store.db import events, placing, totals
from tuner.store.db import jobs as job_rows
from tuner.store.db.engine import Database
from tuner.store.db.hosts import drained_hosts
from tuner.store.db.rows import measurement_of, noun_of, result_header, to_json, window_row
from tuner.store.db.tables import hosts, is_open, jobs, measurements, trials, windows


class Work(Database):
    """The store's calls about measurements on their way through a host."""

    def claim(self, measurement_id: MeasurementId, host: str) -> Claim | None:
        """Take a measurement for `host` as a new attempt.

        None if it is cancelled, ended, or held by another host that lives.
        """
        with self._transaction() as connection:
            job_row = _lock_job_of(connection, measurement_id)
            row = _take(connection, measurement_id, host) if job_row else None
            if job_row is None or row is None:
                return None
            job, measurement = noun_of(Job, job_row), measurement_of(row)
            job_rows.change(connection, job.id, _block(row))
            wanted = select(trials.c.number, trials.c.params).where(
                trials.c.job_id == job.id, trials.c.number.in_(row["arms"])
            )
            params = {number: given for number, given in connection.execute(wanted)}
        arms = tuple(params[arm] for arm in measurement.arms)
        return Claim(measurement=measurement, job=job, params=arms)

    def is_current(self, measurement_id: MeasurementId, attempt: int) -> bool:
        """Whether the result of this attempt is still wanted; False after a cancel, for example."""
        query = select(measurements.c.id).where(_is_current(measurement_id, attempt))
        with self._at_once() as connection:
            return connection.execute(query).one_or_none() is not None

    def complete(
        self, measurement_id: MeasurementId, attempt: int, result: MeasurementResult
    ) -> bool:
        """Store a result and have the job advance; False, and nothing stored, if outdated."""
        header = result_header(result)
        state = MeasurementState.COMPLETE
        return self._end(measurement_id, attempt, result.windows, state=state, result=header)

    def fail(self, measurement_id: MeasurementId, attempt: int, failure: Failure) -> bool:
        """Store a failure and have the job advance; False, and nothing stored, if outdated."""
        document = to_json(failure)
        return self._end(measurement_id, attempt, state=MeasurementState.FAILED, failure=document)

    def _end(
        self,
        measurement_id: MeasurementId,
        attempt: int,
        found: Sequence[Window] = (),
        **values: Any,
    ) -> bool:
        values["finished_at"] = func.now()
        with self._transaction() as connection:
            job_row = _lock_job_of(connection, measurement_id)
            row = _write_if_current(connection, measurement_id, attempt, **values)
            if job_row is None or row is None:
                return False
            if found:
                rows = [window_row(measurement_id, row["arms"], window) for window in found]
                connection.execute(insert(windows), rows)
            job_id = JobId(job_row["id"])
            job_rows.change(connection, job_id, _block(row))
            self._queue.defer_advance(job_rows.raw(connection), job_id, job_row["pool"])
            totals.add(connection, totals.of_measurement(row, job_row["pool"], found))
        return True

    def release(self, measurement_id: MeasurementId, attempt: int, *, fault: str | None) -> int:
        """Give a measurement back for another attempt; returns its count of host faults.

        Without a `fault` (shutdown, Docker away) the count stays. The queue's retry, or else
        `recover`, runs it again.
        """
        values: dict[str, Any] = {"state": MeasurementState.QUEUED, "worker_id": None}
        if fault is not None:
            values |= {"faults": measurements.c.faults + 1, "last_fault": fault}
        faults = select(measurements.c.faults).where(measurements.c.id == measurement_id)
        with self._transaction() as connection:
            job_row = _lock_job_of(connection, measurement_id)
            values["host"] = job_row["host"] if job_row else None
            row = _write_if_current(connection, measurement_id, attempt, **values)
            if row and job_row:
                job_rows.change(connection, JobId(job_row["id"]), _block(row))
                if fault is not None:
                    one = Total(counted=Counted.HOST_FAULTS, pool=job_row["pool"])
                    totals.add(connection, [one])
            return connection.execute(faults).scalar() or 0

    def open_jobs(self) -> set[JobId]:
        """The jobs of all pools that have not ended."""
        wanted = select(jobs.c.id).where(is_open)
        with self._transaction() as connection:
            return {JobId(found) for found in connection.execute(wanted).scalars()}


def _take(connection: Connection, measurement_id: MeasurementId, host: str) -> RowMapping | None:
    """Begin an attempt of `host`; None if the host may not have the measurement."""
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
    return connection.execute(taken).mappings().one_or_none()


def _block(row: RowMapping) -> events.Changed:
    return {EventKind.BLOCK: [row["sequence"]]}


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


def _may_be_taken_by(host: str) -> ColumnElement[bool]:
    """Waiting for this host, or lost, or held by this host, whose worker does one thing at a time.

    A drained host takes nothing.
    """
    return and_(
        or_(
            and_(
                measurements.c.state == MeasurementState.QUEUED,
                func.coalesce(measurements.c.host, host) == host,
            ),
            and_(measurements.c.state == MeasurementState.RUNNING, measurements.c.host == host),
            placing.is_lost(),
        ),
        literal(host).not_in(drained_hosts()),
    )
