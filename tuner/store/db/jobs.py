"""One job: read, lock, change, finish; the next job of a pool."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Subquery,
    and_,
    false,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from tuner.nouns.errors import LimitReached, NotFound
from tuner.nouns.model import (
    DROPPED,
    Asked,
    Counted,
    EventKind,
    History,
    Job,
    JobId,
    JobSpec,
    JobState,
    MeasurementState,
    Phase,
    Priority,
    Total,
    end_of_job,
    too_many_waiting,
)
from tuner.store.db import events
from tuner.store.db.engine import JobQueue
from tuner.store.db.hosts import is_free, living_workers, of_a_job, slots, takes_work
from tuner.store.db.rows import noun_of, to_json
from tuner.store.db.tables import hosts, is_open, is_open_work, jobs, measurements

_POOL_LOCKS = 7_801  # first key of our advisory locks on pools
_SUBMITTER_LOCKS = 7_805  # not that of hosts: a key may have the name of a worker
_ASKED_LOCKS = 7_806  # ... on digests of requests


def asked_before(connection: Connection, asked: Asked) -> JobId | None:
    """The earlier job that is the answer to a request; None where it makes a job of its own.

    The lock holds until the transaction ends: of two equal requests at once, the second one sees
    the job of the first.
    """
    if not asked.go_on or asked.sha256 is None:
        return None
    lock = func.pg_advisory_xact_lock(_ASKED_LOCKS, func.hashtext(asked.sha256))
    connection.execute(select(lock))
    since = asked.answered_since
    has_answer = jobs.c.finished_at >= since if since else false()
    query = select(jobs).where(jobs.c.asked_sha256 == asked.sha256, or_(is_open, has_answer))
    return asked.earlier(noun_of(Job, row) for row in connection.execute(query).mappings())


def insert_queued(
    connection: Connection, spec: JobSpec, own: Mapping[str, str | None]
) -> RowMapping | None:
    """Insert a queued job with its `own` columns; None where its idempotency key is used."""
    values = {
        "kind": spec.kind,
        "app": spec.app,
        "pool": spec.pool,
        "priority": spec.priority,
        "state": JobState.QUEUED,
        "phase": Phase.VALIDATE,
        "spec": to_json(spec),
    }
    once = insert(jobs).values({**values, **own})
    once = once.on_conflict_do_nothing(index_elements=["submitted_key", "idempotency_key"])
    return connection.execute(once.returning(jobs)).mappings().one_or_none()


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


def require_few_waiting(connection: Connection, by_key: str, most: int) -> None:
    """Raise `LimitReached` if more jobs of an API key wait, one that is just made included.

    One transaction of theirs at a time: two new jobs would not see each other.
    """
    lock = func.pg_advisory_xact_lock(_SUBMITTER_LOCKS, func.hashtext(by_key))
    connection.execute(select(lock))
    theirs = jobs.c.submitted_key == by_key
    waiting = select(func.count()).where(jobs.c.state == JobState.QUEUED, theirs)
    if connection.execute(waiting).scalar_one() > most:
        raise LimitReached(too_many_waiting(by_key, most))


def change(connection: Connection, job_id: JobId, changed: events.Changed, **values: Any) -> None:
    """Write columns of a job, raise its revision, and write the events of what has changed."""
    values["revision"] = jobs.c.revision + 1
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(values))
    events.write_of_job(connection, job_id, changed)


def finish(connection: Connection, queue: JobQueue, job: Job, **values: Any) -> None:
    """Make a job final, cancel its open measurements, and wake the pool's next job.

    The last statements of their transaction: see `tuner.store.db.events`.
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
    events.add(connection, [Total(counted=Counted.JOBS_ENDED, pool=job.spec.pool, labels=labels)])


def drop_open(connection: Connection, job: Job) -> None:
    """Cancel the open measurements of the present phase if a job that finishes needs none."""
    if job.phase in DROPPED:
        own = (measurements.c.job_id == job.id, measurements.c.phase == job.phase)
        dropped = update(measurements).where(*own, is_open_work)
        values = {"state": MeasurementState.CANCELLED, "finished_at": func.now()}
        connection.execute(dropped.values(**values))


def wake_next(connection: Connection, queue: JobQueue, pool: str) -> None:
    """Have the next job of a pool start if there is a host for it."""
    lock_pool(connection, pool)
    next_id = next_of(connection, pool)
    if next_id is not None and may_start(connection, next_id):
        queue.defer_advance(raw(connection), next_id, pool)


# ---- Which queued job of a pool is next: interactive ones before nightly ones, and apps take turns
#
# The first jobs of all apps come before the second ones. In a round, the app whose last job started
# longest ago is first, so that nobody waits for all jobs of an app that submitted many.

_queued = jobs.alias("queued")
_earlier = jobs.alias("earlier")
_running = jobs.alias("running")

# By number, not by time: the index of an app's jobs ends with it, and a queued job is soon passed.
_last_start = (
    select(_earlier.c.started_at)
    .where(
        _earlier.c.app == _queued.c.app,
        _earlier.c.pool == _queued.c.pool,
        _earlier.c.started_at.is_not(None),
    )
    .order_by(_earlier.c.id.desc())
    .limit(1)
    .correlate(_queued)
    .scalar_subquery()
)
_is_nightly = _queued.c.priority != Priority.INTERACTIVE


def _queue(*of_which: ColumnElement[bool]) -> Subquery:
    """The queued jobs of whole pools, each with its place in its pool, from 0."""
    of_app: dict[str, Any] = {"partition_by": (_queued.c.pool, _is_nightly, _queued.c.app)}
    rounds = (
        select(
            _queued.c.id,
            _queued.c.pool,
            _is_nightly.label("is_nightly"),
            func.row_number().over(**of_app, order_by=_queued.c.id).label("round"),
            _last_start.label("last_start"),
            func.min(_queued.c.id).over(**of_app).label("first"),
        )
        .where(_queued.c.state == JobState.QUEUED, *of_which)
        .correlate(jobs)
        .subquery()
    )
    order = (
        rounds.c.is_nightly,
        rounds.c.round,
        rounds.c.last_start.asc().nulls_first(),
        rounds.c.first,
    )
    place = func.row_number().over(partition_by=rounds.c.pool, order_by=order) - 1
    return select(rounds.c.id, place.label("place")).subquery()


_in_pool = _queue(_queued.c.pool == jobs.c.pool)
_place = (
    select(_in_pool.c.place).where(_in_pool.c.id == jobs.c.id).correlate(jobs).scalar_subquery()
)
_others_running = (
    select(func.count())
    .select_from(_running)
    .where(
        _running.c.pool == jobs.c.pool,
        _running.c.state == JobState.RUNNING,
        _running.c.id != jobs.c.id,
    )
    .correlate(jobs)
    .scalar_subquery()
)

AHEAD = func.coalesce(_place, 0) + _others_running
"""How many other jobs of the pool run, or come before this one."""


def next_of(connection: Connection, pool: str) -> JobId | None:
    """The queued job of a pool that is next; None: none waits."""
    queue = _queue(_queued.c.pool == pool)
    found = connection.execute(select(queue.c.id).where(queue.c.place == 0)).scalar()
    return JobId(found) if found is not None else None


def first_in_line(limit: int) -> Select[int]:
    """Queued jobs: those that are next in their pools, then those after them."""
    queue = _queue()
    return select(queue.c.id).order_by(queue.c.place, queue.c.id).limit(limit)


# ---- Which host measures a job: each running job has a host of its own, as far as hosts are free
#
# A job keeps its host, so that no noise from host to host gets into it. It moves when its host
# has gone, cannot measure or is drained, and another one is free. Where no host of the pool
# lives, a job starts without one; it has one as soon as a host is free, and any host may measure
# it until then. Hosts without a job may have single blocks of another job: see
# `tuner.study.state`.
#
# Transactions lock jobs first, then the pool, then measurements.

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
        lock_pool(connection, pool)
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
    change(connection, job_id, {EventKind.JOB: ()}, host=host)


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
    change(connection, job_id, {EventKind.BLOCK: [row.sequence for row in blocks]})


def _waiting_on(host: str) -> dict[str, Any]:
    return {"state": MeasurementState.QUEUED, "host": host, "worker_id": None}
