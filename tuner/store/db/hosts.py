"""Benchmark hosts: which ones live, what keeps each from measuring, its last calibration.

`lives` is the one place that decides whether a worker is gone. Work of a worker that is gone
starts again elsewhere; everything that asks this asks here.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg
from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    and_,
    case,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from tuner.nouns.errors import Conflict, TunerError, Unavailable
from tuner.nouns.model import (
    HAS_A_JOB,
    HOST_IS_STALE_AFTER,
    IS_DRAINED,
    BenchmarkHost,
    Calibration,
    EventKind,
    HostFingerprint,
    Job,
    JobState,
    MeasurementState,
)
from tuner.store.db import events
from tuner.store.db.engine import Database, connect, translated
from tuner.store.db.rows import noun_of, to_json
from tuner.store.db.tables import hosts, is_open_work, jobs, measurements

HOST_LOCKS = 7_803  # first key of the advisory locks on host names

_LOCK_IS_HELD = text("""EXISTS (
    SELECT 1 FROM pg_locks
     WHERE locktype = 'advisory' AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND classid = :host_locks AND objid = hashtext(hosts.name)::oid AND objsubid = 2)
""").bindparams(host_locks=HOST_LOCKS)


_running = jobs.alias("running")
_measured = (
    select(measurements.c.job_id)
    .where(
        measurements.c.host == hosts.c.name,
        measurements.c.state == MeasurementState.RUNNING,
    )
    .limit(1)
    .scalar_subquery()
)
_own = select(_running.c.id).where(
    _running.c.state == JobState.RUNNING, _running.c.host == hosts.c.name
)


def seen_lately() -> ColumnElement[bool]:
    """Whether a host has reported within the limit that everything here shares."""
    return hosts.c.last_seen > func.now() - HOST_IS_STALE_AFTER


def lives() -> ColumnElement[bool]:
    """Whether a host's worker lives: its process holds the lock and does not hang."""
    return and_(seen_lately(), _LOCK_IS_HELD)


def takes_work() -> ColumnElement[bool]:
    """Whether a host lives and is not drained."""
    return and_(lives(), hosts.c.drained_at.is_(None))


def drained_hosts() -> Select[tuple[str]]:
    """The names of the hosts that take no more work."""
    return select(hosts.c.name).where(hosts.c.drained_at.is_not(None))


def slots(pool: ColumnElement[str]) -> ScalarSelect[int]:
    """How many jobs of a pool may run: one for each host; one where no host lives."""
    counted = func.count().filter(takes_work())
    found = case((func.count().filter(lives()) == 0, 1), else_=counted)
    return select(found).where(hosts.c.pool == pool).correlate(jobs).scalar_subquery()


def living_workers() -> Select[tuple[int]]:
    """The queue's numbers of the workers that live."""
    return select(hosts.c.worker_id).where(hosts.c.worker_id.is_not(None), lives())


def of_a_job() -> ColumnElement[bool]:
    """Whether a host has a job that runs."""
    return _own.exists()


def is_free(pool: str) -> ColumnElement[bool]:
    """Whether a host of the pool takes work and has no job."""
    return and_(hosts.c.pool == pool, takes_work(), ~of_a_job())


def idle_hosts(connection: Connection, job: Job) -> Sequence[str]:
    """Hosts that could help a job: free, able, with the fingerprint of the job's own host.

    None where a queued job needs them, and none that helps another job.
    """
    if job.host is None:
        return ()
    own = hosts.alias("own")
    fingerprint = select(own.c.fingerprint).where(own.c.name == job.host).scalar_subquery()
    waits = select(jobs.c.id).where(jobs.c.pool == job.spec.pool, jobs.c.state == JobState.QUEUED)
    helps_another = select(measurements.c.id).where(
        measurements.c.host == hosts.c.name,
        is_open_work,
        measurements.c.job_id != job.id,
    )
    query = (
        select(hosts.c.name)
        .where(is_free(job.spec.pool), hosts.c.problem.is_(None))
        .where(hosts.c.fingerprint == fingerprint, ~waits.exists(), ~helps_another.exists())
        .order_by(hosts.c.name)
    )
    return connection.execute(query).scalars().all()


def problems_of_job() -> ColumnElement[dict[str, str | None]]:
    """What keeps the live hosts of a job's pool from it, by name; null for a host that can."""
    is_elsewhere = and_(jobs.c.host != hosts.c.name, of_a_job())
    problem = case(
        (hosts.c.problem.is_not(None), hosts.c.problem),
        (hosts.c.drained_at.is_not(None), IS_DRAINED),
        (is_elsewhere, HAS_A_JOB),
    )
    found = func.coalesce(func.json_object_agg(hosts.c.name, problem), text("'{}'::json"))
    live = select(found).where(hosts.c.pool == jobs.c.pool, seen_lately())
    return live.correlate(jobs).scalar_subquery()


def calibrated(connection: Connection, found: Calibration, *, with_target: str) -> None:
    """Give a calibration to each host that took part in it, in place of the earlier one."""
    statement = (
        update(hosts)
        .where(hosts.c.name.in_(found.hosts))
        .values(calibration=to_json(found), calibrated_at=func.now(), calibrated_with=with_target)
    )
    connection.execute(statement)


class Hosts(Database):
    """The store's calls about benchmark hosts."""

    def see_host(
        self,
        name: str,
        pool: str,
        fingerprint: HostFingerprint | None = None,
        problem: str | None = None,
    ) -> None:
        """Write that a host reports, and what keeps it from measuring.

        Its fingerprint stays until a new one comes.
        """
        statement = insert(hosts).values(
            name=name,
            pool=pool,
            fingerprint=to_json(fingerprint),
            last_seen=func.now(),
            problem=problem,
        )
        new = statement.excluded
        known = func.coalesce(new.fingerprint, hosts.c.fingerprint)
        values = {"pool": new.pool, "last_seen": new.last_seen, "problem": new.problem}
        seen = select(hosts.c.pool, hosts.c.problem, seen_lately()).where(hosts.c.name == name)
        with self._transaction() as connection:
            if connection.execute(seen).one_or_none() != (pool, problem, True):
                events.write_of_pool(connection, pool, EventKind.HOST)
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["name"], set_={**values, "fingerprint": known}
                )
            )

    def hosts(self, pool: str | None = None) -> list[BenchmarkHost]:
        """All hosts by name, also those that are gone: see `last_seen`."""
        own = _own.where(hosts.c.drained_at.is_(None)).scalar_subquery()
        query = select(hosts, func.coalesce(_measured, own).label("job")).order_by(hosts.c.name)
        if pool is not None:
            query = query.where(hosts.c.pool == pool)
        with self._transaction() as connection:
            return [noun_of(BenchmarkHost, row) for row in connection.execute(query).mappings()]


# ---- A worker's proof of life: a connection that holds the lock on its host's name, and a beat
#
# Each proof alone is too slow or too weak. PostgreSQL frees the lock the moment a process dies, but
# a process that hangs keeps it. The beat shows a hang, but only after seconds, and a worker that is
# killed and started again must not wait for its own old beat. `hosts.lives` asks for both.
#
# A worker that loses the connection takes the lock again, under the same number of the queue. So a
# block that it runs meanwhile is still its own, until another host begins a new attempt.

log = logging.getLogger(__name__)

_SEEN = """
  WITH noted AS (INSERT INTO events (kind, pool) VALUES ('host', %(pool)s))
INSERT INTO hosts (name, pool, last_seen, worker_id) VALUES (%(host)s, %(pool)s, now(), %(worker)s)
    ON CONFLICT (name) DO UPDATE
   SET pool = excluded.pool, last_seen = excluded.last_seen, worker_id = excluded.worker_id
"""
_BEAT = "UPDATE hosts SET last_seen = now() WHERE name = %(host)s"
_LOCK = f"SELECT pg_try_advisory_lock({HOST_LOCKS}, hashtext(%(host)s))"
_IS_OURS = "SELECT worker_id = %(worker)s FROM hosts WHERE name = %(host)s"


class Liveness:
    """The proof of life of one worker, made by `host_alive`. Threads may share one."""

    def __init__(self, url: str, host: str, pool: str) -> None:
        self._url = url
        self._values: dict[str, Any] = {"host": host, "pool": pool, "worker": None}
        self._one_at_a_time = threading.Lock()
        with translated():
            self._take_name()  # what an earlier worker of this name did is lost

    def register(self, worker_id: int) -> None:
        """Note the queue's number of this worker, before its first task. Raises `Unavailable`."""
        self._values["worker"] = worker_id
        with translated():
            self._connection.execute(_SEEN, self._values)

    def beat(self) -> None:
        """Show that this process does not hang. If the lock was lost, take it again.

        Raises `Unavailable` while PostgreSQL is away, `Conflict` if another worker has the name.
        """
        with self._one_at_a_time, translated():
            if self._connection.closed:
                self._take_name()
                log.info("PostgreSQL is back; this worker is %(host)r again", self._values)
            self._connection.execute(_BEAT, self._values)

    def close(self) -> None:
        """Free the name at once: the server may notice later that the connection has ended."""
        with suppress(psycopg.Error):
            self._connection.execute("SELECT pg_advisory_unlock_all()")
        self._connection.close()

    def _take_name(self) -> None:
        self._connection = connect(self._url)
        try:
            if not self._says(_LOCK):
                raise self._refusal()
            self._connection.execute(_SEEN, self._values)
        except BaseException:
            self.close()
            raise

    def _refusal(self) -> TunerError:
        if self._values["worker"] is not None and self._says(_IS_OURS):
            return Unavailable("postgresql", "it does not know yet that our connection was lost")
        return Conflict(
            f"a worker named {self._values['host']!r} already uses this database. Two workers on "
            "one machine disturb each other's measurements. On another machine, set another "
            "TUNER_WORKER_NAME"
        )

    def _says(self, query: str) -> bool:
        return self._connection.execute(query.encode(), self._values).fetchone() == (True,)


@contextmanager
def host_alive(url: str, host: str, pool: str) -> Iterator[Liveness]:
    """Be the one worker of a host name on this database, while the context lasts.

    Raises `Conflict` where there is one, `Unavailable` where PostgreSQL is away.
    """
    with closing(Liveness(url, host, pool)) as liveness:
        yield liveness
