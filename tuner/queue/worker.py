"""One worker of a pool: runs `advance` and `measure` one at a time, until told to stop.

The sweep is a task of the event loop and not one of procrastinate's periodic tasks: those wait
in the queue behind a measurement of minutes, and run on one worker of a pool only, while every
host has to say that it lives.
"""

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import procrastinate
from procrastinate.jobs import DeleteJobCondition, Job
from procrastinate.manager import JobManager
from procrastinate.retry import BaseRetryStrategy, RetryDecision
from procrastinate.worker import Worker

from tuner.errors import Aborted, Infrastructure, Unavailable
from tuner.model import JobId, MeasurementId
from tuner.queue.deferring import ADVANCE, MEASURE, queue_of, translated
from tuner.queue.liveness import HEARTBEAT_IS_STALE_AFTER_S, Sign

RETRY_AFTER_S = 3
SWEEP_EVERY_S = 5.0
CONNECTION_TIMEOUT_S = 2.0  # of the pool; what waits for it keeps a stopping worker waiting
POLL_EVERY_S = 1.0  # for retries, which no notification announces
HEARTBEAT_EVERY_S = 2.0
TOLD_TO_ABORT_AFTER_S = 0.2  # of the worker's stopping by itself; on a signal it is at once
TIDY_EVERY_S = 3600.0
_STOP_CHECKED_EVERY_S = 0.05

log = logging.getLogger(__name__)


class Handlers(Protocol):
    """What the tasks do. Each is called in a thread.

    `Unavailable` and `Infrastructure` mean "again in a few seconds", as often as it takes: who
    counts faults ends it by storing a failure and returning. `Aborted` means that it is over, or,
    while this worker stops, that any worker may start it anew.
    """

    def advance(self, job_id: JobId) -> None:
        """Decide what is next for a job."""

    def measure(self, measurement_id: MeasurementId, should_abort: Callable[[], bool]) -> None:
        """Make a measurement; soon after `should_abort()` is true, stop and raise `Aborted`."""

    def sweep(self) -> None:
        """Every few seconds, also while a measurement runs: report the host, find what is lost."""


def run_worker(
    handlers: Handlers,
    *,
    url: str,
    pool: str,
    host: str,
    stopping: threading.Event | None = None,
) -> None:
    """Work until SIGTERM, SIGINT or `stopping`; then abort what runs, and return.

    Raises `Unavailable` when PostgreSQL goes away: the supervisor starts the process anew. What
    dead workers of the pool have left behind is put back before the first job is taken.
    """
    asyncio.run(_Run(handlers, url, pool, host, stopping or threading.Event()).main())


class _Runnable(Protocol):
    """procrastinate's `Worker`, which leaves these untyped."""

    async def run(self) -> None: ...

    def stop(self) -> None: ...


class _Interrupted(Exception):
    """The worker stops in the middle of a job: any worker may start it anew."""


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


class _SignedManager(JobManager):
    """Holds the sign of life before the worker can take its first job."""

    def __init__(self, connector: procrastinate.BaseConnector, sign: Sign) -> None:
        super().__init__(connector)
        self._sign = sign

    async def register_worker(self) -> int:
        worker_id = await super().register_worker()
        await asyncio.to_thread(self._sign.hold, worker_id)
        return worker_id


class _Run:
    """One life of a worker."""

    def __init__(
        self, handlers: Handlers, url: str, pool: str, host: str, stopping: threading.Event
    ) -> None:
        self._handlers = handlers
        self._url = url
        self._pool = pool
        self._host = host
        self._stopping = stopping
        self._told = threading.Event()  # set once the worker takes no more jobs, and not before:
        # what is interrupted goes back into the queue, where this worker would find it again

    async def main(self) -> None:
        sign = await asyncio.to_thread(Sign, self._url)
        try:
            with translated():
                await self._work(sign)
        except Unavailable:
            if not self._stopping.is_set():
                raise
            log.warning("PostgreSQL went away while the worker was stopping")
        finally:
            sign.close()
        if not self._stopping.is_set():
            raise Unavailable("postgresql", "the queue's connection was lost")

    async def _work(self, sign: Sign) -> None:
        connector = procrastinate.PsycopgConnector(
            conninfo=self._url.replace("postgresql+psycopg://", "postgresql://", 1),
            min_size=1,
            max_size=4,
            timeout=CONNECTION_TIMEOUT_S,
            kwargs={"connect_timeout": 3},
        )
        app = procrastinate.App(connector=connector)
        app.job_manager = _SignedManager(connector, sign)
        self._register(app)
        await asyncio.to_thread(sign.revive, self._pool)
        async with app.open_async():
            worker: _Runnable = Worker(
                app,
                queues=[queue_of(self._pool)],
                name=self._host,
                concurrency=1,
                fetch_job_polling_interval=POLL_EVERY_S,
                shutdown_graceful_timeout=TOLD_TO_ABORT_AFTER_S,
                delete_jobs=DeleteJobCondition.SUCCESSFUL,
                install_signal_handlers=False,  # ours also tell the running measurement
                update_heartbeat_interval=HEARTBEAT_EVERY_S,
                stalled_worker_timeout=HEARTBEAT_IS_STALE_AFTER_S,
            )
            with self._signals():
                await self._beside(worker, sign)

    async def _beside(self, worker: _Runnable, sign: Sign) -> None:
        """Run the worker with the sweep and the watch for a stop; neither outlives it."""
        sides = [
            asyncio.create_task(self._sweep(worker, sign)),
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
        while not self._stopping.is_set():
            await asyncio.sleep(_STOP_CHECKED_EVERY_S)
        worker.stop()
        self._told.set()

    async def _sweep(self, worker: _Runnable, sign: Sign) -> None:
        """Ends, and the worker with it, at the first error that waiting does not mend."""
        tidied = -TIDY_EVERY_S
        try:
            while True:
                await asyncio.to_thread(sign.revive, self._pool)
                if time.monotonic() - tidied >= TIDY_EVERY_S:
                    await asyncio.to_thread(sign.tidy)
                    tidied = time.monotonic()
                await self._sweep_ours()
                await asyncio.sleep(SWEEP_EVERY_S)
        finally:
            worker.stop()

    async def _sweep_ours(self) -> None:
        try:
            await asyncio.to_thread(self._handlers.sweep)
        except Unavailable as error:
            if error.system == "postgresql":
                raise
            log.warning("sweep: %s", error)

    def _register(self, app: procrastinate.App) -> None:
        @app.task(name=ADVANCE, retry=_Retry())
        def advance(job_id: int) -> None:
            self._handlers.advance(JobId(job_id))

        @app.task(name=MEASURE, retry=_Retry(), pass_context=True)
        def measure(context: procrastinate.JobContext, measurement_id: int) -> None:
            def should_abort() -> bool:
                return self._told.is_set() or context.should_abort()

            try:
                self._handlers.measure(MeasurementId(measurement_id), should_abort)
            except Aborted as error:
                if should_abort():
                    raise _Interrupted from error
                log.info("measurement %d was called off", measurement_id)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT stop the worker; threads other than the main one get no signals."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT)
        for number in numbers:
            loop.add_signal_handler(number, self._stopping.set)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)
