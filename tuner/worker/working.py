"""The tasks of one benchmark host, and the process that runs them."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from tuner import bootstrap
from tuner.errors import Aborted, Infrastructure, TargetFailed, TunerError, Unavailable
from tuner.measurement import (
    Bench,
    Launcher,
    LoadGenerator,
)
from tuner.model import (
    Fail,
    Failure,
    FailureCode,
    History,
    HostFingerprint,
    JobId,
    Measurement,
    MeasurementId,
    MeasurementResult,
    Step,
)
from tuner.queue import run_worker
from tuner.settings import Settings
from tuner.worker.alone import alone_on_this_machine
from tuner.worker.making import Claim, failure_of, make

log = logging.getLogger(__name__)

FAULTS_ALLOWED = 3
"""How often a host's fault is repeated before the job is failed for it."""

WATCH_INTERVAL_S = 0.3  # a cancelled measurement has to stop within 2 s


class Store(Protocol):
    """What a worker asks of the store. Writes of an outdated attempt change nothing."""

    def advance(self, job_id: JobId, decide: Callable[[History], Step | None]) -> None:
        """Take every step that is due."""

    def claim(self, measurement_id: MeasurementId, host: str) -> Claim | None:
        """Make it this host's, or None where it is not wanted any more."""

    def is_current(self, measurement_id: MeasurementId, attempt: int) -> bool:
        """Whether the result of this attempt is still wanted."""

    def complete(
        self, measurement_id: MeasurementId, attempt: int, result: MeasurementResult
    ) -> bool:
        """Store what was found."""

    def fail(self, measurement_id: MeasurementId, attempt: int, failure: Failure) -> bool:
        """Store why nothing was found."""

    def release(self, measurement_id: MeasurementId, attempt: int, *, fault: str | None) -> int:
        """Give it back to be made again; returns the host's faults so far."""

    def recover(self, pool: str) -> int:
        """Put lost work into the queue; how many tasks."""

    def see_host(
        self, name: str, pool: str, fingerprint: HostFingerprint | None, problem: str | None
    ) -> None:
        """Note that the host is alive, and what ails it."""


class Host(Launcher, Protocol):
    """This host's containers, all of one measurement or all of them."""

    def for_measurement(self, job: str, measurement: str) -> "Host":
        """The same host, labelling what it starts."""

    def kill_measurement(self, measurement: str) -> int:
        """End all containers of a measurement from another thread."""

    def reap(self) -> int:
        """Remove what earlier measurements left behind."""

    def ping(self) -> None:
        """Raise `Unavailable` where the engine is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """The tasks of one benchmark host, bound to its hands."""

    name: str
    pool: str
    store: Store
    host: Host
    load: LoadGenerator
    decide: Callable[[History], Step | None]

    def advance(self, job_id: JobId) -> None:
        """Take every step of a job that is due.

        A fault of our own fails the job: left running, it would keep its pool from all others.
        """
        try:
            self.store.advance(job_id, self.decide)
        except TunerError:
            raise
        except Exception as bug:
            log.exception("job %d cannot be advanced", job_id)
            failure = Failure(code=FailureCode.INTERNAL, message=_our_fault(bug))
            self.store.advance(job_id, lambda history: Fail(failure=failure))

    def measure(self, measurement_id: MeasurementId, should_abort: Callable[[], bool]) -> None:
        """Make one measurement, whatever becomes of it.

        Raises `Unavailable` or `Infrastructure` where the queue has to bring it back, and
        `Aborted` where it was called off, by a cancel or because this worker is stopping.
        """
        claim = self.store.claim(measurement_id, self.name)
        if claim is None:
            log.info("measurement %d is not wanted any more", measurement_id)
            return
        attempt = claim.measurement.attempt
        try:
            with (
                self._watched(claim, should_abort) as bench,
                alone_on_this_machine(bench.aborted),
            ):
                self._reap()
                result = make(claim, bench)
        except TargetFailed as failure:
            self.store.fail(measurement_id, attempt, failure_of(failure, claim.job.spec))
        except Aborted:
            self._give_back(claim, fault=None)
            raise
        except Unavailable as away:
            self._give_back(claim, fault=None)
            self._report(str(away))
            raise
        except Infrastructure as fault:
            self._repeat_or_give_up(claim, fault)
        except Exception as bug:
            log.exception("measurement %d cannot be made", measurement_id)
            self._repeat_or_give_up(claim, Infrastructure(_our_fault(bug)))
        else:
            self.store.complete(measurement_id, attempt, result)

    def start(self) -> None:
        """Recover the work of an earlier worker of this name and remove its containers.

        The caller holds the host's lock, so that worker is gone.
        """
        self.sweep()
        with suppress(Unavailable):  # without an engine, `measure` removes them later
            self._reap()

    def sweep(self) -> None:
        """Report that this host lives and what keeps it from measuring; recover lost work."""
        self._report(_problem_of(self.host))
        lost = self.store.recover(self.pool)
        if lost:
            log.warning("put %d lost tasks back into the queue", lost)

    def _reap(self) -> None:
        reaped = self.host.reap()
        if reaped:
            log.warning("removed %d containers that an earlier measurement left behind", reaped)

    def _report(self, problem: str | None) -> None:
        fingerprint = None if problem else self.host.fingerprint()
        self.store.see_host(self.name, self.pool, fingerprint, problem)

    @contextmanager
    def _watched(self, claim: Claim, should_abort: Callable[[], bool]) -> Iterator[Bench]:
        """A bench whose containers die as soon as the measurement is not wanted any more."""
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

    def _give_back(self, claim: Claim, *, fault: str | None) -> int:
        measurement = claim.measurement
        return self.store.release(measurement.id, measurement.attempt, fault=fault)

    def _repeat_or_give_up(self, claim: Claim, fault: Infrastructure) -> None:
        measurement = claim.measurement
        log.warning("measurement %d: the host's fault: %s", measurement.id, fault)
        if self._give_back(claim, fault=str(fault)) < FAULTS_ALLOWED:
            raise fault
        again = self.store.claim(measurement.id, self.name)
        if again is not None:
            failure = Failure(
                code=FailureCode.INFRASTRUCTURE,
                message=f"{FAULTS_ALLOWED} times in a row: {fault}",
            )
            self.store.fail(measurement.id, again.measurement.attempt, failure)


def _our_fault(bug: Exception) -> str:
    return f"a fault of the tuner itself, please report it: {bug!r}"


def _problem_of(host: Host) -> str | None:
    try:
        host.ping()
    except Unavailable as away:
        return str(away)
    return None


def run(settings: Settings, pool: str) -> None:
    """Work for a pool until SIGTERM or SIGINT.

    Raises `Conflict` where this host already has a worker, `Unavailable` where PostgreSQL is away:
    the supervisor starts the process anew.
    """
    url, known = bootstrap.database_url(settings), bootstrap.catalogue(settings)
    worker = Worker(
        name=settings.worker_name,
        pool=pool,
        store=bootstrap.store(settings),
        host=bootstrap.launcher(settings, known),
        load=bootstrap.load_generator(settings),
        decide=bootstrap.decide(),
    )
    with bootstrap.host_alive(settings, pool) as liveness:
        worker.start()
        run_worker(worker, liveness, url=url, pool=pool, host=worker.name)
