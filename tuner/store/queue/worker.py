"""One worker of a pool: runs `advance` and `measure` one at a time, until it is stopped.

Beat and sweep are tasks of the event loop. As periodic tasks of procrastinate they would wait
behind a measurement of minutes and run on one worker of the pool, but each host has to report.
Pruning and schedules are such periodic tasks: they may wait, and would disturb a measurement.

While PostgreSQL is away the worker waits, and a measurement goes on.
"""

import asyncio
import gc
import logging
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import procrastinate
from procrastinate.jobs import DeleteJobCondition, Job
from procrastinate.retry import BaseRetryStrategy, RetryDecision
from procrastinate.worker import Worker

from tuner.nouns.errors import Aborted, Infrastructure, Unavailable
from tuner.nouns.model import HOST_IS_STALE_AFTER, JobId, MeasurementId
from tuner.store.queue.tasks import (
    ADVANCE,
    MEASURE,
    PRUNE,
    SUBMIT_DUE,
    PatientManager,
    ProofOfLife,
    queue_of,
    translated,
)

RETRY_AFTER_S = 3
SWEEP_EVERY_S = 5.0
BEAT_EVERY_S = 2.0
TIDY_EVERY_S = 3600.0
TIDIED_AFTER_HOURS = 24
CONNECTION_TIMEOUT_S = 2.0  # of the pool; a worker that stops may have to wait this long
RECONNECT_TIMEOUT_S = 10.0
"""How long the pool tries again, with pauses that double; later the next question is an attempt."""
NEVER_S = 86_400.0  # for what procrastinate does every so often and nobody needs
POLL_EVERY_S = 1.0  # for retries, which come without a notification
TOLD_TO_ABORT_AFTER_S = 0.2  # if the worker stops by itself; on a signal, at once
_STOP_CHECKED_EVERY_S = 0.05

log = logging.getLogger(__name__)


class Handlers(Protocol):
    """What the tasks do. Each is called in a thread.

    `Unavailable` and `Infrastructure` mean "again in a few seconds". The handler sets the limit: it
    stores a failure and returns. `Aborted` ends the task; while this worker stops, the task goes
    back into the queue.
    """

    def advance(self, job_id: JobId) -> None:
        """Decide the next steps of a job."""

    def measure(self, measurement_id: MeasurementId, should_abort: Callable[[], bool]) -> None:
        """Make a measurement; soon after `should_abort()` is true, stop and raise `Aborted`."""

    def prune(self) -> None:
        """Between two measurements: remove what is old."""

    def submit_due(self) -> None:
        """Between two measurements: submit the jobs that schedules ask for."""

    def sweep(self) -> None:
        """Every few seconds, also during a measurement: report the host, recover lost work."""


def run_worker(
    handlers: Handlers,
    liveness: ProofOfLife,
    *,
    conninfo: str,
    pool: str,
    host: str,
    stopping: threading.Event | None = None,
    prunes: str | None = None,
    looks: str | None = None,
) -> None:
    """Work until SIGTERM, SIGINT or `stopping`; then abort what runs, and return.

    `prunes` are the times (cron) at which one worker of the pool prunes, and `looks` those at which
    one looks at the schedules; None: never.

    Raises `Unavailable` if PostgreSQL is away at the start, `Conflict` if another worker takes
    the host's name while it is away later.
    """
    stopping = stopping or threading.Event()
    gc.freeze()  # a collection that looks through all imports too takes 0.1 s, in any task
    asyncio.run(_Run(handlers, liveness, conninfo, pool, host, stopping, prunes, looks).main())


class _Runnable(Protocol):
    """procrastinate's `Worker`, which leaves these untyped."""

    async def run(self) -> None: ...

    def stop(self) -> None: ...


class _Interrupted(Exception):
    """The worker stops in the middle of a task: any worker may start it anew."""


class _Retry(BaseRetryStrategy):
    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        match exception:
            case Unavailable() | Infrastructure():
                log.warning("%s: again in %d s: %s", job.call_string, RETRY_AFTER_S, exception)
                return RetryDecision(retry_in={"seconds": RETRY_AFTER_S})
            case _Interrupted():
                return RetryDecision()
            case _:
                return None


@dataclass(slots=True)
class _Run:
    """One life of a worker."""

    handlers: Handlers
    liveness: ProofOfLife
    conninfo: str
    pool: str
    host: str
    stopping: threading.Event
    prunes: str | None
    looks: str | None
    _told: threading.Event = field(default_factory=threading.Event)
    """Set only once the worker takes no more tasks: an interrupted one goes back into the queue,
    where this worker would find it again."""
    _sweeps_from: float = 0.0  # by the monotonic clock

    async def main(self) -> None:
        try:
            with translated():
                await self._work()
        except Unavailable:
            if not self.stopping.is_set():
                raise
            log.warning("PostgreSQL went away while the worker was stopping")
        if not self.stopping.is_set():
            raise Unavailable("postgresql", "the queue's worker ended by itself")

    async def _work(self) -> None:
        connector = procrastinate.PsycopgConnector(
            conninfo=self.conninfo,
            min_size=1,
            max_size=4,
            timeout=CONNECTION_TIMEOUT_S,
            reconnect_timeout=RECONNECT_TIMEOUT_S,
        )
        app = procrastinate.App(connector=connector)
        app.job_manager = PatientManager(connector, self.liveness, self.stopping)
        self._register(app)
        async with app.open_async():
            worker: _Runnable = Worker(
                app,
                queues=[queue_of(self.pool), queue_of(self.pool, self.host)],
                name=self.host,
                concurrency=1,
                fetch_job_polling_interval=POLL_EVERY_S,
                abort_job_polling_interval=NEVER_S,  # a cancel is in our rows
                stalled_worker_timeout=NEVER_S,  # the caller decides which workers are gone
                shutdown_graceful_timeout=TOLD_TO_ABORT_AFTER_S,
                delete_jobs=DeleteJobCondition.SUCCESSFUL,
                install_signal_handlers=False,  # ours also tell the running measurement
            )
            with self._signals():
                await self._beside(worker, app.job_manager)

    async def _beside(self, worker: _Runnable, manager: PatientManager) -> None:
        """Run the worker with its side tasks, which end with it. The first error ends all."""
        sides = [
            asyncio.create_task(self._every(BEAT_EVERY_S, self._beat, worker)),
            asyncio.create_task(self._every(SWEEP_EVERY_S, self._sweep, worker)),
            asyncio.create_task(self._every(TIDY_EVERY_S, partial(_tidy, manager), worker)),
            asyncio.create_task(self._watch(worker)),
        ]
        try:
            await worker.run()
        finally:
            for side in sides:
                side.cancel()
            ends = await asyncio.gather(*sides, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _watch(self, worker: _Runnable) -> None:
        while not self.stopping.is_set():
            await asyncio.sleep(_STOP_CHECKED_EVERY_S)
        worker.stop()
        self._told.set()

    async def _every(
        self, seconds: float, act: Callable[[], Awaitable[None]], worker: _Runnable
    ) -> None:
        try:
            while True:
                try:
                    with translated():
                        await act()
                except Unavailable as away:
                    log.warning("%s; again in %g s", away, seconds)
                await asyncio.sleep(seconds)
        finally:
            worker.stop()

    async def _beat(self) -> None:
        try:
            await asyncio.to_thread(self.liveness.beat)
        except Unavailable:
            self._sweeps_from = time.monotonic() + HOST_IS_STALE_AFTER.total_seconds()
            raise

    async def _sweep(self) -> None:
        """Not soon after PostgreSQL was away: the other workers have to come back too."""
        await self._beat()
        if time.monotonic() >= self._sweeps_from:
            await asyncio.to_thread(self.handlers.sweep)

    def _register(self, app: procrastinate.App) -> None:
        @app.task(name=ADVANCE, retry=_Retry())
        def advance(job_id: int) -> None:
            self.handlers.advance(JobId(job_id))

        @app.task(name=MEASURE, retry=_Retry(), pass_context=True)
        def measure(
            context: procrastinate.JobContext, measurement_id: int, host: str | None = None
        ) -> None:  # `host` is for those who look which tasks wait
            def should_abort() -> bool:
                return self._told.is_set() or context.should_abort()

            try:
                self.handlers.measure(MeasurementId(measurement_id), should_abort)
            except Aborted as error:
                if should_abort():
                    raise _Interrupted from error
                log.info("measurement %d was cancelled", measurement_id)

        @app.task(name=PRUNE, retry=_Retry())
        def prune(timestamp: int) -> None:
            self.handlers.prune()

        @app.task(name=SUBMIT_DUE, retry=_Retry())
        def submit_due(timestamp: int) -> None:
            self.handlers.submit_due()

        for task, cron in ((prune, self.prunes), (submit_due, self.looks)):
            if cron is not None:
                queue, lock = queue_of(self.pool), f"{task.name}-{self.pool}"
                app.periodic(cron=cron, queue=queue, queueing_lock=lock)(task)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT stop the worker; only the main thread gets signals."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self.stopping.set)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


async def _tidy(manager: PatientManager) -> None:
    """Delete tasks that ended a day ago."""
    await manager.delete_old_jobs(
        nb_hours=TIDIED_AFTER_HOURS,
        include_failed=True,
        include_cancelled=True,
        include_aborted=True,
    )
