"""Jobs: create, read, list, lock, finish; the next job of a pool."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Connection,
    RowMapping,
    bindparam,
    func,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from tuner.db.ports import JobQueue
from tuner.db.rows import SPEC, job_of, to_json
from tuner.db.status import AHEAD, AHEAD_OF_NEW
from tuner.db.tables import jobs, measurements
from tuner.errors import NotFound
from tuner.model import (
    Job,
    JobId,
    JobKind,
    JobSpec,
    JobState,
    JobSummary,
    MeasurementState,
    Phase,
    Verdict,
)

_POOL_LOCKS = 7_801  # first key of our advisory locks on pools
_SUMMARY = [jobs.c[name] for name in JobSummary.model_fields]
_OPEN_WORK = (MeasurementState.QUEUED, MeasurementState.RUNNING)


def raw(connection: Connection) -> Any:
    """psycopg's own connection: with it the queue writes in our transaction."""
    return connection.connection.driver_connection


def insert_job(
    connection: Connection, spec: JobSpec, *, idempotency_key: str | None, request_sha256: str
) -> RowMapping | None:
    """The new job's id, created_at and ahead; None if the key is taken."""
    values = {
        "kind": spec.kind,
        "app": spec.app,
        "pool": spec.pool,
        "state": JobState.QUEUED,
        "phase": Phase.VALIDATE,
        "spec": to_json(SPEC, spec),
        "idempotency_key": idempotency_key,
        "request_sha256": request_sha256,
    }
    statement = insert(jobs).values(values)
    unless_taken = statement.on_conflict_do_nothing(index_elements=["idempotency_key"])
    returned = unless_taken.returning(jobs.c.id, jobs.c.created_at, AHEAD_OF_NEW.label("ahead"))
    return connection.execute(returned).mappings().one_or_none()


def by_key(connection: Connection, idempotency_key: str) -> RowMapping:
    """The job that was created with that key."""
    query = select(jobs.c.id, jobs.c.request_sha256).where(
        jobs.c.idempotency_key == idempotency_key
    )
    return connection.execute(query).mappings().one()


def read(connection: Connection, job_id: JobId, *, lock: bool = False) -> Job:
    """One job; `lock` keeps others from changing it until the transaction ends.

    Raises `NotFound`.
    """
    query = select(jobs).where(jobs.c.id == job_id)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFound(f"there is no job {job_id}")
    return job_of(row)


def listed(
    connection: Connection,
    *,
    kind: JobKind | None,
    app: str | None,
    state: JobState | None,
    after: JobId | None,
    limit: int,
) -> Sequence[RowMapping]:
    """Columns of `JobSummary`, newest first; `after` is the last id of the page before."""
    query = select(*_SUMMARY).order_by(jobs.c.id.desc()).limit(limit)
    if kind is not None:
        query = query.where(jobs.c.kind == kind)
    if app is not None:
        query = query.where(jobs.c.app == app)
    if state is not None:
        query = query.where(jobs.c.state == state)
    if after is not None:
        query = query.where(jobs.c.id < after)
    return connection.execute(query).mappings().all()


def latest_in_brief(connection: Connection, app: str) -> RowMapping | None:
    """Columns of the newest tuning job of `app` that has its answer."""
    return connection.execute(_LATEST_IN_BRIEF, {"app": app}).mappings().one_or_none()


def answer_in_brief(connection: Connection, job_id: JobId) -> RowMapping | None:
    """The same of one job."""
    return connection.execute(_IN_BRIEF, {"job_id": job_id}).mappings().one_or_none()


# Built once, not for every poll.
_answered = select(jobs.c.id, jobs.c.revision, jobs.c.verdict, jobs.c.finished_at).where(
    jobs.c.kind == JobKind.TUNE, jobs.c.state == JobState.SUCCEEDED
)
_LATEST_IN_BRIEF = (
    _answered.where(jobs.c.app == bindparam("app")).order_by(jobs.c.id.desc()).limit(1)
)
_IN_BRIEF = _answered.where(jobs.c.id == bindparam("job_id"))


def recommended(connection: Connection, app: str, limit: int) -> Sequence[RowMapping]:
    """The newest jobs of `app` whose recommendation was better than the user's own file."""
    query = (
        select(jobs)
        .where(
            jobs.c.app == app,
            jobs.c.kind == JobKind.TUNE,
            jobs.c.state == JobState.SUCCEEDED,
            jobs.c.verdict == Verdict.BETTER,
        )
        .order_by(jobs.c.id.desc())
        .limit(limit)
    )
    return connection.execute(query).mappings().all()


def is_next(connection: Connection, job_id: JobId) -> bool:
    """Whether no job of the pool runs or was queued before this one."""
    return connection.execute(select(AHEAD == 0).where(jobs.c.id == job_id)).scalar_one()


def lock_pool(connection: Connection, pool: str) -> None:
    """One transaction at a time may ask whether the pool is free, or which job is next.

    Otherwise a new job could ask while the running job ends: the new one still sees the other
    running, the other does not see the new one waiting, and no task ever starts it.
    """
    connection.execute(select(func.pg_advisory_xact_lock(_POOL_LOCKS, func.hashtext(pool))))


def change(connection: Connection, job_id: JobId, **values: Any) -> None:
    """Write columns of a job and raise its revision."""
    values["revision"] = jobs.c.revision + 1
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(values))


def finish(connection: Connection, queue: JobQueue, job: Job, **values: Any) -> None:
    """Make a job final, cancel its open measurements, and wake the pool's next job."""
    change(connection, job.id, finished_at=func.now(), **values)
    connection.execute(
        update(measurements)
        .where(measurements.c.job_id == job.id, measurements.c.state.in_(_OPEN_WORK))
        .values(state=MeasurementState.CANCELLED, finished_at=func.now())
    )
    _wake_next(connection, queue, job.spec.pool)


def _wake_next(connection: Connection, queue: JobQueue, pool: str) -> None:
    lock_pool(connection, pool)
    oldest = select(func.min(jobs.c.id)).where(jobs.c.pool == pool, jobs.c.state == JobState.QUEUED)
    next_id = connection.execute(oldest).scalar_one()
    if next_id is not None:
        queue.defer_advance(raw(connection), JobId(next_id), pool)
