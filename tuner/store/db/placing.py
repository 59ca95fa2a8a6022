"""Which host measures a job: each running job has a host of its own, as far as hosts are free.

A job keeps its host, so that no noise from host to host gets into it. It moves when its host has
gone, cannot measure or is drained, and another one is free. Where no host of the pool lives, a job
starts without one; it has one as soon as a host is free, and any host may measure it until then.
Hosts without a job may have single blocks of another job: see `tuner.study.state`.

Transactions lock jobs first, then the pool, then measurements.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select, update

from tuner.nouns.model import EventKind, JobId, JobState, MeasurementState, Phase
from tuner.store.db import jobs as job_rows
from tuner.store.db.hosts import is_free, living_workers, of_a_job, takes_work
from tuner.store.db.tables import hosts, jobs, measurements

_IS_RUNNING = jobs.c.state == JobState.RUNNING


def is_lost() -> ColumnElement[bool]:
    """The worker that runs the measurement is gone."""
    return and_(
        measurements.c.state == MeasurementState.RUNNING,
        func.coalesce(measurements.c.worker_id, 0).not_in(living_workers()),
    )


def free_hosts(connection: Connection, pool: str, *, that_measure: bool) -> Sequence[str]:
    """Hosts without a job, the best first; only those without a problem if `that_measure`."""
    query = select(hosts.c.name).where(is_free(pool))
    if that_measure:
        query = query.where(hosts.c.problem.is_(None))
    in_order = query.order_by(hosts.c.problem.is_not(None), hosts.c.name)
    return connection.execute(in_order).scalars().all()


def place(connection: Connection, pool: str) -> None:
    """Give a free host to each running job of a pool whose own host cannot go on.

    Blocks that wait on a host that no longer helps go back to the job's own. A job that changes
    just now is left for the next time.
    """
    homeless = _locked(
        connection, pool, or_(jobs.c.host.is_(None), jobs.c.host.not_in(_able(pool)))
    )
    if homeless:
        job_rows.lock_pool(connection, pool)
        free = free_hosts(connection, pool, that_measure=True)
        for job_id, host in zip(homeless, free, strict=False):
            _move(connection, job_id, host)
    for job_id in _locked(connection, pool, _is_left(pool).exists()):
        _take_back(connection, job_id, pool)


def _locked(connection: Connection, pool: str, which: ColumnElement[bool]) -> list[JobId]:
    query = select(jobs.c.id).where(jobs.c.pool == pool, _IS_RUNNING, which).order_by(jobs.c.id)
    found = connection.execute(query.with_for_update(skip_locked=True)).scalars()
    return [JobId(job_id) for job_id in found]


def _able(pool: str) -> Select[tuple[str]]:
    """The hosts that can measure."""
    return select(hosts.c.name).where(hosts.c.pool == pool, takes_work(), hosts.c.problem.is_(None))


def _waits() -> ColumnElement[bool]:
    return or_(measurements.c.state == MeasurementState.QUEUED, is_lost())


def _is_left(pool: str) -> Select[tuple[int]]:
    """Blocks of a job that wait on another host than its own, which does not help any more."""
    return select(measurements.c.id).where(
        measurements.c.job_id == jobs.c.id,
        measurements.c.host != jobs.c.host,
        measurements.c.host.not_in(_able(pool).where(~of_a_job())),
        _waits(),
    )


def _move(connection: Connection, job_id: JobId, host: str) -> None:
    """A block that a living host measures just now stays there until its end."""
    own = select(jobs.c.host).where(jobs.c.id == job_id).scalar_subquery()
    is_its = or_(measurements.c.host.is_(None), measurements.c.host == own)
    moved = update(measurements).where(measurements.c.job_id == job_id, is_its, _waits())
    connection.execute(moved.values(**_waiting_on(host)))
    job_rows.change(connection, job_id, {EventKind.JOB: ()}, host=host)


def _take_back(connection: Connection, job_id: JobId, pool: str) -> None:
    """Its A/A blocks of that host end: they say nothing elsewhere."""
    left = (
        select(measurements.c.id, measurements.c.sequence, measurements.c.phase, jobs.c.host)
        .join(jobs, jobs.c.id == measurements.c.job_id)
        .where(jobs.c.id == job_id, measurements.c.id.in_(_is_left(pool).correlate(jobs)))
    )
    blocks = connection.execute(left).all()
    for block, _, phase, host in blocks:
        values = _waiting_on(host)
        if phase == Phase.CALIBRATE:
            values = {"state": MeasurementState.CANCELLED, "finished_at": func.now()}
        taken = update(measurements).where(measurements.c.id == block)
        connection.execute(taken.values(**values))
    job_rows.change(connection, job_id, {EventKind.BLOCK: [row.sequence for row in blocks]})


def _waiting_on(host: str) -> dict[str, Any]:
    return {"state": MeasurementState.QUEUED, "host": host, "worker_id": None}
