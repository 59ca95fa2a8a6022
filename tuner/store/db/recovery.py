"""Work that has lost its worker or its place in the queue, and hosts that are drained."""

from sqlalchemy import Connection, Select, func, or_, select, update

from tuner.nouns.errors import NotFound
from tuner.nouns.model import Action, EventKind, JobId, JobState, MeasurementId, MeasurementState
from tuner.store.db import events, placing
from tuner.store.db import jobs as job_rows
from tuner.store.db.engine import Database
from tuner.store.db.hosts import drained_hosts, living_workers
from tuner.store.db.keys import note
from tuner.store.db.tables import hosts, is_open_work, jobs, measurements
from tuner.store.db.turns import next_of


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
            placing.place(connection, pool)
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
            or_(measurements.c.state == MeasurementState.QUEUED, placing.is_lost()),
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
