"""Putting work into the queue within the caller's transaction."""

import hashlib
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Any

import procrastinate
import psycopg
from procrastinate.exceptions import ConnectorException

from tuner.errors import Unavailable
from tuner.model import JobId, MeasurementId

ADVANCE = "advance"
MEASURE = "measure"
ADVANCE_PRIORITY = 10  # deciding takes milliseconds, and gives the other hosts work
MEASURE_PRIORITY = 0

RawConnection = psycopg.Connection[Any]


_LONGEST_QUEUE_NAME = 40  # NOTIFY refuses channels above 63 bytes, 23 of which are procrastinate's


def queue_of(pool: str) -> str:
    """The queue that a pool's workers serve; a name too long for NOTIFY ends in its digest."""
    name = f"pool-{pool}"
    if len(name) <= _LONGEST_QUEUE_NAME:
        return name
    digest = hashlib.sha256(pool.encode()).hexdigest()[:12]
    return f"{name[: _LONGEST_QUEUE_NAME - 13]}-{digest}"


class Queue:
    """What the store asks of a queue. Holds no connection of its own; threads may share one."""

    def __init__(self) -> None:
        connector = procrastinate.SyncPsycopgConnector()  # never opened: the caller's is used
        self._app = procrastinate.App(connector=connector)

    def defer_advance(self, connection: RawConnection, job_id: JobId, pool: str) -> None:
        """Have `advance(job_id)` run; never two of one job at a time."""
        self._defer(
            connection, ADVANCE, pool, ADVANCE_PRIORITY, lock=f"job-{job_id}", job_id=job_id
        )

    def defer_measure(
        self, connection: RawConnection, measurement_id: MeasurementId, pool: str
    ) -> None:
        """Have `measure(measurement_id)` run on a host of the pool."""
        self._defer(
            connection, MEASURE, pool, MEASURE_PRIORITY, lock=None, measurement_id=measurement_id
        )

    def waiting_jobs(self, connection: RawConnection) -> AbstractSet[JobId]:
        """Jobs for which an `advance` waits or runs."""
        return {JobId(id_) for id_ in _waiting(connection, ADVANCE, "job_id")}

    def waiting_measurements(self, connection: RawConnection) -> AbstractSet[MeasurementId]:
        """Measurements for which a `measure` waits or runs."""
        return {MeasurementId(id_) for id_ in _waiting(connection, MEASURE, "measurement_id")}

    def _defer(
        self,
        connection: RawConnection,
        task: str,
        pool: str,
        priority: int,
        *,
        lock: str | None,
        **arguments: int,
    ) -> None:
        deferrer = self._app.configure_task(
            task, queue=queue_of(pool), priority=priority, lock=lock, connection=connection
        )
        with translated():
            deferrer.defer(**arguments)


def _waiting(connection: RawConnection, task: str, argument: str) -> list[int]:
    query = (
        "SELECT (args->>%s)::bigint FROM procrastinate_jobs "
        "WHERE task_name = %s AND status IN ('todo', 'doing')"
    )
    return [row[0] for row in connection.execute(query, [argument, task]).fetchall()]


@contextmanager
def translated() -> Iterator[None]:
    """Turn procrastinate's and psycopg's "the database is away" into `Unavailable`."""
    try:
        yield
    except ConnectorException as error:
        if isinstance(error.__cause__, psycopg.OperationalError | psycopg.InterfaceError):
            raise Unavailable("postgresql", _first_line(error.__cause__)) from error
        raise
    except psycopg.OperationalError as error:
        raise Unavailable("postgresql", _first_line(error)) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
