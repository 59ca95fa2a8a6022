"""Which queued job of a pool is next: interactive ones before nightly ones, and apps take turns.

The first jobs of all apps come before the second ones. In a round, the app whose last job started
longest ago is first, so that nobody waits for all jobs of an app that submitted many.
"""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Subquery, func, select

from tuner.nouns.model import JobId, JobState, Priority
from tuner.store.db.tables import jobs

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
