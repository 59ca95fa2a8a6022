"""The tasks of one benchmark host."""

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from tuner.bench.measurement import Bench, Launcher, LoadGenerator
from tuner.nouns import log_context
from tuner.nouns.errors import (
    Aborted,
    Infrastructure,
    NotFound,
    TargetFailed,
    TunerError,
    Unavailable,
)
from tuner.nouns.model import (
    Claim,
    Fail,
    Failure,
    FailureCode,
    History,
    JobId,
    Measurement,
    MeasurementId,
    MeasurementResult,
    Step,
)
from tuner.service.worker.making import Attempt, Patience, failure_of, make
from tuner.store.db import Store

log = logging.getLogger(__name__)

FAULTS_ALLOWED = 3
"""After this many faults of the host the measurement fails, and with it the job."""

WATCH_INTERVAL_S = 0.3  # a cancelled measurement has to stop within 2 s


class BenchHost(Launcher, Protocol):
    """This host's containers: of one measurement, or all."""

    def for_measurement(self, job: str, measurement: str) -> "BenchHost":
        """The same host; its containers carry the measurement's label."""

    def kill_measurement(self, measurement: str) -> int:
        """Remove all containers of a measurement, from another thread."""

    def reap(self) -> int:
        """Remove containers that earlier measurements left."""

    def end_jobs(self, keep: Collection[str]) -> None:
        """Remove what all jobs but these have left for their next measurement."""

    def problem(self) -> str | None:
        """What keeps this host from measuring; None for nothing."""

    def alone(self) -> AbstractContextManager[None]:
        """Measure alone on this machine.

        Raises `Infrastructure` while another service measures, `Unavailable` without an engine.
        """

    def check_alone(self) -> None:
        """Raise `Infrastructure` if another service may have measured meanwhile."""

    def give_way(self) -> None:
        """Let other services measure, if this one has nothing to measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """The tasks of one benchmark host."""

    name: str
    pool: str
    store: Store
    host: BenchHost
    load: LoadGenerator
    decide: Callable[[History], Step | None]
    patience: Patience = field(default_factory=Patience)
    prune: Callable[[], None] = lambda: None
    """Removes what is older than the settings allow."""
    submit_due: Callable[[], None] = lambda: None
    """Submits the jobs that schedules ask for."""
    _measuring: threading.Lock = field(default_factory=threading.Lock)
    _left: threading.Event = field(default_factory=threading.Event)
    """Set while containers of an ended measurement may be here: the engine went away."""

    def advance(self, job_id: JobId) -> None:
        """Take every step of a job that is due.

        A bug of ours fails the job: a job that runs forever would block its pool.
        """
        with log_context.about(job=job_id):
            try:
                self.store.advance(job_id, self.decide)
            except NotFound:
                log.info("job %d was deleted", job_id)
            except TunerError:
                raise
            except Exception as bug:
                log.exception("job %d cannot be advanced", job_id)
                failure = Failure(code=FailureCode.INTERNAL, message=_our_fault(bug))
                self.store.advance(job_id, lambda history: Fail(failure=failure))
            self.clear()

    def measure(self, measurement_id: MeasurementId, should_abort: Callable[[], bool]) -> None:
        """Make one measurement and store its result or failure.

        Raises `Unavailable` or `Infrastructure` if the queue has to repeat it, and `Aborted` after
        a cancel or while this worker stops. While another service measures on this machine, or
        the engine is away, it is not claimed: another host may take it. The first wait has no
        limit; after the limit of the second the measurement fails.
        """
        with ExitStack() as turn:
            turn.enter_context(log_context.about(block=measurement_id))
            try:
                turn.enter_context(self.host.alone())
            except Unavailable as away:
                self._wait_or_give_up(measurement_id, should_abort, away)
                return
            self.patience.renew()
            self._measure(measurement_id, should_abort)

    def _wait_or_give_up(
        self, measurement_id: MeasurementId, should_abort: Callable[[], bool], away: Unavailable
    ) -> None:
        if not self.patience.is_over(measurement_id):
            self._report(str(away))
            raise away
        claim = self.store.claim(measurement_id, self.name)
        if claim is not None:
            attempt = Attempt(self.store, claim.measurement, should_abort)
            attempt.fail(self.patience.failure(away))

    def _measure(self, measurement_id: MeasurementId, should_abort: Callable[[], bool]) -> None:
        claim = self.store.claim(measurement_id, self.name)
        if claim is None:
            log.info("measurement %d is no longer wanted", measurement_id)
            return
        log_context.add(job=claim.job.id)
        attempt = Attempt(self.store, claim.measurement, should_abort)
        try:
            with self._measuring, self._watched(claim, should_abort) as bench:
                result = self._made(claim, bench)
        except TargetFailed as failure:
            attempt.fail(failure_of(failure, claim.job.spec))
        except Aborted:
            attempt.release()
            raise
        except Infrastructure as fault:
            self._repeat_or_give_up(attempt, fault)
        except Exception as bug:
            log.exception("measurement %d cannot be made", measurement_id)
            self._repeat_or_give_up(attempt, Infrastructure(_our_fault(bug)))
        else:
            attempt.complete(result)

    def start(self) -> None:
        """Recover the work of an earlier worker of this name and remove its containers.

        The caller holds the host's lock, so that worker is gone.
        """
        self._left.set()
        self.sweep()

    def sweep(self) -> None:
        """Report that this host lives and what keeps it from measuring; recover lost work.

        Remove what an ended measurement could not remove itself.
        """
        self.host.give_way()
        self._report(self.host.problem())
        lost = self.store.recover(self.pool)
        if lost:
            log.warning("put %d lost tasks back into the queue", lost)
        self.clear()
        self._tidy()

    def clear(self) -> None:
        """Remove what jobs that have ended left on this host, if it can be done now."""
        with suppress(Unavailable, Infrastructure):
            self.host.end_jobs({str(job) for job in self.store.open_jobs()})

    def _made(self, claim: Claim, bench: Bench) -> MeasurementResult:
        """An engine that goes away in the middle is a fault, which is counted."""
        try:
            self._reap()
            result = make(claim, bench)
            self.host.check_alone()
        except Unavailable as away:
            raise Infrastructure(f"{away} (in the middle of a measurement)") from away
        return result

    def _tidy(self) -> None:
        """Remove what an ended measurement left.

        Without an engine, or while something is measured, a later sweep does it.
        """
        if self._left.is_set() and self._measuring.acquire(blocking=False):
            try:
                with suppress(Unavailable, Infrastructure):
                    self._reap()
            finally:
                self._measuring.release()

    def _reap(self) -> None:
        reaped = self.host.reap()
        self._left.clear()
        if reaped:
            log.warning("removed %d containers that an earlier measurement left", reaped)

    def _report(self, problem: str | None) -> None:
        fingerprint = None
        if problem is None:
            try:
                fingerprint = self.host.fingerprint()
            except TunerError as fault:
                problem = str(fault)
        self.store.see_host(self.name, self.pool, fingerprint, problem)

    @contextmanager
    def _watched(self, claim: Claim, should_abort: Callable[[], bool]) -> Iterator[Bench]:
        """A bench; its containers are killed once the measurement is no longer wanted."""
        measurement = claim.measurement
        label = str(measurement.id)
        unwanted, done = threading.Event(), threading.Event()
        host = self.host.for_measurement(str(claim.job.id), label)

        def watch() -> None:
            while not done.wait(WATCH_INTERVAL_S):
                if should_abort() or not self._is_wanted(measurement):
                    unwanted.set()
                    host.kill_measurement(label)

        thread = threading.Thread(target=watch, name=f"watch-{label}", daemon=True)
        thread.start()
        try:
            yield Bench(launcher=host, load=self.load, aborted=unwanted.is_set)
        finally:
            done.set()
            thread.join()

    def _is_wanted(self, measurement: Measurement) -> bool:
        """Whether the attempt still counts. While PostgreSQL is away it may; the write decides."""
        try:
            return self.store.is_current(measurement.id, measurement.attempt)
        except Unavailable:
            return True

    def _repeat_or_give_up(self, attempt: Attempt, fault: Infrastructure) -> None:
        measurement_id = attempt.measurement.id
        self._left.set()
        log.warning("measurement %d: the host's fault: %s", measurement_id, fault)
        if attempt.release(fault=str(fault)) < FAULTS_ALLOWED:
            raise fault
        again = self.store.claim(measurement_id, self.name)
        if again is not None:
            failure = Failure(
                code=FailureCode.INFRASTRUCTURE,
                message=f"{FAULTS_ALLOWED} times in a row: {fault}",
            )
            replace(attempt, measurement=again.measurement).fail(failure)


def _our_fault(bug: Exception) -> str:
    return f"a bug in the tuner, please report it: {bug!r}"
