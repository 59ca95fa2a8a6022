"""Benchmark hosts: which ones live, what keeps each from measuring, its last calibration.

`lives` is the one place that decides whether a worker is gone. Work of a worker that is gone
starts again elsewhere; everything that asks this asks here.
"""

from sqlalchemy import ColumnElement, Connection, Select, and_, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from tuner.db import events
from tuner.db.engine import Database
from tuner.db.rows import noun_of, to_json
from tuner.db.tables import hosts, jobs
from tuner.model import (
    HOST_IS_STALE_AFTER,
    BenchmarkHost,
    Calibration,
    EventKind,
    HostFingerprint,
)

HOST_LOCKS = 7_803  # first key of the advisory locks on host names

_LOCK_IS_HELD = text("""EXISTS (
    SELECT 1 FROM pg_locks
     WHERE locktype = 'advisory' AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND classid = :host_locks AND objid = hashtext(hosts.name)::oid AND objsubid = 2)
""").bindparams(host_locks=HOST_LOCKS)


def seen_lately() -> ColumnElement[bool]:
    """Whether a host has reported within the limit that everything here shares."""
    return hosts.c.last_seen > func.now() - HOST_IS_STALE_AFTER


def lives() -> ColumnElement[bool]:
    """Whether a host's worker lives: its process holds the lock and does not hang."""
    return and_(seen_lately(), _LOCK_IS_HELD)


def living_workers() -> Select[tuple[int]]:
    """The queue's numbers of the workers that live."""
    return select(hosts.c.worker_id).where(hosts.c.worker_id.is_not(None), lives())


def problems_in(pool: ColumnElement[str]) -> ColumnElement[dict[str, str | None]]:
    """The problems of the live hosts of a job's pool, by name; null for a host without one."""
    found = func.coalesce(func.json_object_agg(hosts.c.name, hosts.c.problem), text("'{}'::json"))
    live = select(found).where(hosts.c.pool == pool, seen_lately())
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
        query = select(hosts).order_by(hosts.c.name)
        if pool is not None:
            query = query.where(hosts.c.pool == pool)
        with self._transaction() as connection:
            return [noun_of(BenchmarkHost, row) for row in connection.execute(query).mappings()]
