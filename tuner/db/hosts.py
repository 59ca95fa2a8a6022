"""Benchmark hosts: who measures, when last seen, and what ails it."""

from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects.postgresql import insert

from tuner.db.rows import CALIBRATION, FINGERPRINT, HostRow, host_of, to_json
from tuner.db.tables import hosts
from tuner.model import Calibration, HostFingerprint


def see(
    connection: Connection,
    name: str,
    pool: str,
    fingerprint: HostFingerprint | None,
    problem: str | None,
) -> None:
    """Write down that a host lives; a fingerprint once known stays until a new one comes."""
    statement = insert(hosts).values(
        name=name,
        pool=pool,
        fingerprint=to_json(FINGERPRINT, fingerprint),
        last_seen=func.now(),
        problem=problem,
    )
    new = statement.excluded
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["name"],
            set_={
                "pool": new.pool,
                "fingerprint": func.coalesce(new.fingerprint, hosts.c.fingerprint),
                "last_seen": new.last_seen,
                "problem": new.problem,
            },
        )
    )


def calibrated(connection: Connection, found: Calibration, *, with_target: str) -> None:
    """Keep a calibration with every host that took part in it, in place of the one before."""
    statement = (
        update(hosts)
        .where(hosts.c.name.in_(found.hosts))
        .values(
            calibration=to_json(CALIBRATION, found),
            calibrated_at=func.now(),
            calibrated_with=with_target,
        )
    )
    connection.execute(statement)


def listed(connection: Connection, pool: str | None) -> list[HostRow]:
    """Hosts by name, those that have gone included: `last_seen` tells."""
    query = select(hosts).order_by(hosts.c.name)
    if pool is not None:
        query = query.where(hosts.c.pool == pool)
    return [host_of(row) for row in connection.execute(query).mappings()]
