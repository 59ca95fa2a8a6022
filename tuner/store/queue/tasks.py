"""Tasks in the queue: deferred, waiting, put back. Only this module knows procrastinate's tables.

procrastinate cannot say which tasks are lost. A worker that was killed leaves its task `doing`
for good, and one that stops its last task sends no heartbeat, so `get_stalled_jobs` lists it.
The caller decides which workers are gone (`tuner.store.db.hosts`); `put_back` only does the rest.
"""

import asyncio
import hashlib
import logging
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import procrastinate
import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from procrastinate.manager import JobManager

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


# ---- procrastinate's manager of tasks, for a worker that outlives an absence of PostgreSQL

AGAIN_AFTER_S = 1.0

log = logging.getLogger(__name__)

_T = TypeVar("_T")


class ProofOfLife(Protocol):
    """This worker's proof of life. Both raise `Unavailable` while PostgreSQL is away."""

    def register(self, worker_id: int) -> None:
        """Note the queue's number of this worker."""

    def beat(self) -> None:
        """Every few seconds, from the first task to the last: show that this worker runs.

        Raises `Conflict` if another worker has its place.
        """


class PatientManager(JobManager):
    """Waits while PostgreSQL is away, until `stopping`; procrastinate would end its worker.

    It also gives `liveness` the worker's number: procrastinate has no hook before the first task.
    """

    def __init__(
        self,
        connector: procrastinate.BaseConnector,
        liveness: ProofOfLife,
        stopping: threading.Event,
    ) -> None:
        super().__init__(connector)
        self._liveness = liveness
        self._stopping = stopping
        self._answer_was_lost = False

    async def prune_stalled_workers(self, seconds_since_heartbeat: float) -> list[int]:
        prune = super().prune_stalled_workers
        return await self._answered(partial(prune, seconds_since_heartbeat))

    async def register_worker(self) -> int:
        worker_id = await self._answered(super().register_worker)
        await asyncio.to_thread(self._liveness.register, worker_id)
        return worker_id

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """The next task; None while PostgreSQL is away: the worker soon asks again.

        A lost answer may have named a task that is now ours for good: it goes back first.
        """
        try:
            with translated():
                if self._answer_was_lost:
                    await self.connector.execute_query_async(PUT_BACK, workers=[worker_id])
                    self._answer_was_lost = False
                return await super().fetch_job(queues, worker_id)
        except Unavailable:
            self._answer_was_lost = True
            return None

    async def finish_job(self, *task: Any, **end: Any) -> None:
        await self._patiently(partial(super().finish_job, *task, **end))

    async def retry_job(self, *task: Any, **again: Any) -> None:
        await self._patiently(partial(super().retry_job, *task, **again))

    async def defer_periodic_job(self, *task: Any, **when: Any) -> int | None:
        return await self._answered(partial(super().defer_periodic_job, *task, **when))

    async def update_heartbeat(self, worker_id: int) -> None:
        await self._patiently(partial(super().update_heartbeat, worker_id))

    async def listen_for_jobs(self, **wanted: Any) -> None:
        await self._patiently(partial(super().listen_for_jobs, **wanted))

    async def _patiently(self, act: Callable[[], Awaitable[None]]) -> None:
        """Do something that a task may no longer need: it has ended before."""
        try:
            await self._answered(act)
        except ConnectorException as error:
            if not isinstance(error.__cause__, psycopg.errors.RaiseException):
                raise
            log.info("a task has ended before: %s", error.__cause__)

    async def _answered(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        while True:
            try:
                with translated():
                    return await ask()
            except Unavailable:
                if self._stopping.is_set():
                    raise
            await asyncio.sleep(AGAIN_AFTER_S)
