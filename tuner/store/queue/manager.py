"""procrastinate's manager of tasks, for a worker that outlives an absence of PostgreSQL."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Protocol, TypeVar

import procrastinate
import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from procrastinate.manager import JobManager

from tuner.nouns.errors import Unavailable
from tuner.store.queue.tasks import PUT_BACK, translated

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

    async def _answered(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        answers: list[_T] = []

        async def act() -> None:
            answers.append(await ask())

        await self._patiently(act)
        return answers[0]

    async def _patiently(self, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                with translated():
                    return await act()
            except Unavailable:
                if self._stopping.is_set():
                    raise
            except ConnectorException as error:
                if not isinstance(error.__cause__, psycopg.errors.RaiseException):
                    raise
                log.info("a task has ended before: %s", error.__cause__)
                return None
            await asyncio.sleep(AGAIN_AFTER_S)
