"""Measurements on their way through a host. Every write names its attempt.

All lock the job before the measurement, so that a cancel and a result cannot deadlock.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from tuner.nouns.errors import NotFound
from tuner.nouns.model import (
    Action,
    Claim,
    Counted,
    EventKind,
    Failure,
    Job,
    JobId,
    JobState,
    MeasurementId,
    MeasurementResult,
    MeasurementState,
    Total,
    Window,
)
from tuner.store.db import events
from tuner.store.db import jobs as job_rows
from tuner.store.db.engine import Database
from tuner.store.db.hosts import drained_hosts, living_workers
from tuner.store.db.jobs import next_of
from tuner.store.db.keys import note
from tuner.store.db.rows import measurement_of, noun_of, result_header, to_json, window_row
from tuner.store.db.tables import hosts, is_open, is_open_work, jobs, measurements, trials, windows


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
            events.add(connection, events.of_measurement(row, job_row["pool"], found))
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
                    events.add(connection, [one])
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
            job_rows.is_lost(),
        ),
        literal(host).not_in(drained_hosts()),
    )


# ---- Work that has lost its worker or its place in the queue, and hosts that are drained


class Recovery(Database):
    """The store's calls that see to it that each job has a host and each measurement a task."""

    def recover(self, pool: str) -> int:
        """Put work of workers that are gone, and work that is missing, into the queue.

        First each job of the pool gets a host that can measure it, if one is free.

        Returns how many tasks. The queue and our rows change together, so tasks should never be
        missing. It happens when a worker hangs until others take over its task, and then comes
        back and ends that task. It also deletes old events.
        """
        queue = self._queue
        with self._transaction() as connection:
            raw = job_rows.raw(connection)
            job_rows.place(connection, pool)
            # First who is busy, then who lives: a worker that registers in between is not taken
            # for gone.
            busy = queue.busy_workers(raw)
            gone = busy - set(connection.execute(living_workers()).scalars())
            put_back = queue.put_back(raw, gone) if gone else 0
            found = connection.execute(_startable(pool))
            startable = {(MeasurementId(block), host) for block, host in found}
            lost = startable - queue.waiting_measurements(raw)
            for measurement_id, host in sorted(lost):
                queue.defer_measure(raw, measurement_id, pool, host)
            stuck = _idle_jobs(connection, pool) - queue.waiting_jobs(raw)
            for job_id in stuck:
                queue.defer_advance(raw, job_id, pool)
            events.trim(connection)
        return put_back + len(lost) + len(stuck)

    def drain(self, host: str, *, by: str | None) -> None:
        """Have a host end its block and take no more work. Its job moves where a host is free.

        Raises `NotFound`.
        """
        first = func.coalesce(hosts.c.drained_at, func.now())
        self._change(host, first, Action.DRAIN, by)

    def resume(self, host: str, *, by: str | None) -> None:
        """Have a host take work again. Raises `NotFound`."""
        self._change(host, None, Action.RESUME, by)

    def _change(self, host: str, drained_at: object, action: Action, by: str | None) -> None:
        changed = update(hosts).where(hosts.c.name == host).values(drained_at=drained_at)
        with self._transaction() as connection:
            pool = connection.execute(changed.returning(hosts.c.pool)).scalar()
            if pool is None:
                raise NotFound(f"no worker has reported for a host {host!r}")
            note(connection, by, action, said=f"host {host}")
            events.write_of_pool(connection, pool, EventKind.HOST)
        self.recover(pool)


def _startable(pool: str) -> Select[int, str | None]:
    """The pool's open measurements without a living worker, with the hosts that may take them.

    Those that are open have an index.
    """
    return (
        select(measurements.c.id, measurements.c.host)
        .join(jobs, jobs.c.id == measurements.c.job_id)
        .where(
            jobs.c.pool == pool,
            or_(measurements.c.state == MeasurementState.QUEUED, job_rows.is_lost()),
            func.coalesce(measurements.c.host, "").not_in(drained_hosts()),
        )
    )


def _idle_jobs(connection: Connection, pool: str) -> set[JobId]:
    """The pool's running jobs without an open measurement, and its next one if that may start."""
    open_work = select(measurements.c.id).where(
        measurements.c.job_id == jobs.c.id,
        is_open_work,
    )
    idle = select(jobs.c.id).where(
        jobs.c.pool == pool, jobs.c.state == JobState.RUNNING, ~open_work.exists()
    )
    found = {JobId(job_id) for job_id in connection.execute(idle).scalars()}
    next_id = next_of(connection, pool)
    if next_id is not None and job_rows.may_start(connection, next_id):
        found.add(next_id)
    return found
