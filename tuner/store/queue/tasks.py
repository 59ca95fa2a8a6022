"""Tasks in the queue: deferred, waiting, put back. Only this module knows procrastinate's tables.

procrastinate cannot say which tasks are lost. A worker that was killed leaves its task `doing`
for good, and one that stops its last task sends no heartbeat, so `get_stalled_jobs` lists it.
The caller decides which workers are gone (`tuner.store.db.hosts`); `put_back` only does the rest.
"""

import hashlib
from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import Any

import procrastinate
import psycopg
from procrastinate.exceptions import ConnectorException

from tuner.nouns.errors import Unavailable
from tuner.nouns.model import JobId, MeasurementId

ADVANCE = "advance"
MEASURE = "measure"
PRUNE = "prune"
SUBMIT_DUE = "submit_due"
ADVANCE_PRIORITY = 10  # a decision takes milliseconds and gives work to the other hosts
MEASURE_PRIORITY = 0

RawConnection = psycopg.Connection[Any]

_LONGEST_QUEUE_NAME = 40  # NOTIFY takes a channel of 63 bytes; procrastinate adds 23

_WAITING = """
SELECT (args->>%s)::bigint, args->>'host' FROM procrastinate_jobs
 WHERE task_name = %s AND status IN ('todo', 'doing')
"""
_BUSY = """
SELECT DISTINCT coalesce(worker_id, 0) FROM procrastinate_jobs WHERE status = 'doing'
"""
PUT_BACK = """
SELECT procrastinate_retry_job_v2(id, NULL, NULL, NULL, NULL)
  FROM (SELECT id FROM procrastinate_jobs
         WHERE status = 'doing' AND coalesce(worker_id, 0) = ANY(%(workers)s)
           FOR UPDATE SKIP LOCKED) AS lost
"""


def queue_of(pool: str, host: str | None = None) -> str:
    """The queue of one host, or of all hosts of a pool.

    A name too long for NOTIFY ends in its digest.
    """
    workers = pool if host is None else f"{pool}/{host}"
    name = f"pool-{workers}"
    if len(name) <= _LONGEST_QUEUE_NAME:
        return name
    digest = hashlib.sha256(workers.encode()).hexdigest()[:12]
    return f"{name[: _LONGEST_QUEUE_NAME - 13]}-{digest}"


class Queue:
    """The queue, on the caller's connection and in its transaction. Threads may share one."""

    def __init__(self) -> None:
        connector = procrastinate.SyncPsycopgConnector()  # never opened: the caller's is used
        self._app = procrastinate.App(connector=connector)

    def defer_advance(self, connection: RawConnection, job_id: JobId, pool: str) -> None:
        """Have `advance(job_id)` run; one at a time for each job."""
        deferrer = self._app.configure_task(
            ADVANCE,
            queue=queue_of(pool),
            priority=ADVANCE_PRIORITY,
            lock=f"job-{job_id}",
            connection=connection,
        )
        with translated():
            deferrer.defer(job_id=job_id)

    def defer_measure(
        self,
        connection: RawConnection,
        measurement_id: MeasurementId,
        pool: str,
        host: str | None = None,
    ) -> None:
        """Have `measure(measurement_id)` run on a host of the pool; None: on any."""
        deferrer = self._app.configure_task(
            MEASURE, queue=queue_of(pool, host), priority=MEASURE_PRIORITY, connection=connection
        )
        with translated():
            deferrer.defer(measurement_id=measurement_id, host=host)

    def waiting_jobs(self, connection: RawConnection) -> AbstractSet[JobId]:
        """Jobs with an `advance` that waits or runs."""
        return {job_id for job_id, _ in _rows(connection, _WAITING, "job_id", ADVANCE)}

    def waiting_measurements(
        self, connection: RawConnection
    ) -> AbstractSet[tuple[MeasurementId, str | None]]:
        """Measurements with a `measure` that waits or runs, each with the host of that task."""
        return set(_rows(connection, _WAITING, "measurement_id", MEASURE))

    def busy_workers(self, connection: RawConnection) -> AbstractSet[int]:
        """The workers that run a task; 0 stands for a worker without a row."""
        return {worker for (worker,) in _rows(connection, _BUSY)}

    def put_back(self, connection: RawConnection, workers: Collection[int]) -> int:
        """Have the running tasks of these workers run again; how many tasks."""
        with translated():
            return connection.execute(PUT_BACK, {"workers": list(workers)}).rowcount


def _rows(connection: RawConnection, query: str, *values: str) -> list[Any]:
    with translated():
        return connection.execute(query, values).fetchall()


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of procrastinate and psycopg about a lost server into `Unavailable`."""
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
