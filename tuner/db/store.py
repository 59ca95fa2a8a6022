"""The store: all reads and writes of PostgreSQL.

Each method is one transaction. Each raises `Unavailable` when PostgreSQL is away or full: then
nothing has changed, and the caller may repeat the call.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, select

from tuner.db import hosts, jobs, work
from tuner.db.engine import translated
from tuner.db.history import (
    read_blocks_by_trial,
    read_history,
    read_measurements,
    read_trials,
)
from tuner.db.ports import JobQueue
from tuner.db.rows import FAILURE, brief_of, job_of, result_header, to_json
from tuner.db.status import read_status, read_version
from tuner.db.steps import apply_step
from tuner.db.tables import jobs as jobs_table
from tuner.errors import Conflict, NotFound
from tuner.model import (
    AnswerInBrief,
    BenchmarkHost,
    Claim,
    Failure,
    History,
    HostFingerprint,
    Job,
    JobId,
    JobKind,
    JobSpec,
    JobState,
    JobStatus,
    JobSummary,
    Measurement,
    MeasurementId,
    MeasurementResult,
    MeasurementState,
    Params,
    Phase,
    Step,
    Trial,
    TrialNumber,
    version_of,
)

MOST_STEPS = 5_000  # of one advance; a study with more runs in circles


def _locked_history(connection: Connection, job_id: JobId) -> History | None:
    """All rows of a job, locked until the transaction ends; None if the job has ended.

    Raises `NotFound`.
    """
    job = jobs.read(connection, job_id, lock=True)
    if job.state.is_final:
        return None
    if job.state is JobState.QUEUED:
        jobs.lock_pool(connection, job.spec.pool)
    return read_history(connection, job)


class Store:
    """Jobs, trials, measurements and hosts in PostgreSQL. Threads may share one."""

    def __init__(self, engine: Engine, queue: JobQueue) -> None:
        self._engine = engine
        self._queue = queue

    # ---- jobs

    def create_job(
        self, spec: JobSpec, *, idempotency_key: str | None, request_sha256: str
    ) -> tuple[JobStatus, bool]:
        """A queued job and True; for a used key, its job and False.

        Raises `Conflict` where the key came with another request.
        """
        with self._transaction() as connection:
            row = jobs.insert_job(
                connection,
                spec,
                idempotency_key=idempotency_key,
                request_sha256=request_sha256,
            )
            if row is not None:
                job = Job(
                    id=JobId(row["id"]),
                    spec=spec,
                    state=JobState.QUEUED,
                    phase=Phase.VALIDATE,
                    created_at=row["created_at"],
                )
                self._queue.defer_advance(jobs.raw(connection), job.id, spec.pool)
                return JobStatus(job=job, revision=1, queue_position=row["ahead"]), True
            earlier = jobs.by_key(connection, idempotency_key or "")
            if earlier["request_sha256"] != request_sha256:
                raise Conflict(
                    f"the idempotency key {idempotency_key!r} belongs to job {earlier['id']}, "
                    "which was another request; use a new key"
                )
            return read_status(connection, JobId(earlier["id"])), False

    def job(self, job_id: JobId) -> Job:
        """One job. Raises `NotFound`."""
        with self._transaction() as connection:
            return jobs.read(connection, job_id)

    def jobs(
        self,
        app: str | None = None,
        state: JobState | None = None,
        after: JobId | None = None,
        limit: int = 50,
        *,
        kind: JobKind | None = None,
    ) -> list[JobSummary]:
        """Newest first; `after` is the last id of the page before."""
        with self._transaction() as connection:
            rows = jobs.listed(
                connection, kind=kind, app=app, state=state, after=after, limit=limit
            )
        return [JobSummary(**row) for row in rows]

    def status(self, job_id: JobId) -> JobStatus:
        """Where a job stands: two statements for a job of any size. Raises `NotFound`."""
        with self._transaction() as connection:
            return read_status(connection, job_id)

    def version(self, job_id: JobId) -> str:
        """The version of the job's status, in one statement. Raises `NotFound`."""
        with self._at_once() as connection:
            return version_of(**read_version(connection, job_id))

    def history(self, job_id: JobId) -> History:
        """All rows of a job. Raises `NotFound`."""
        with self._transaction() as connection:
            return read_history(connection, jobs.read(connection, job_id))

    def advance(self, job_id: JobId, decide: Callable[[History], Step | None]) -> None:
        """Apply the steps of `decide` until it returns None.

        One transaction under the job's lock writes all steps, or none. Raises `NotFound`.
        """
        with self._transaction() as connection:
            history: History | None = None
            for _ in range(MOST_STEPS):
                history = history or _locked_history(connection, job_id)
                step = decide(history) if history is not None else None
                if history is None or step is None:
                    return
                history = apply_step(connection, self._queue, history, step)
            raise RuntimeError(f"job {job_id}: no end after {MOST_STEPS} steps")

    def cancel(self, job_id: JobId) -> JobStatus:
        """Cancel a job and all its open measurements; cancelling twice is no error.

        Raises `NotFound`, or `Conflict` if the job has ended otherwise.
        """
        with self._transaction() as connection:
            job = jobs.read(connection, job_id, lock=True)
            if job.state is not JobState.CANCELLED:
                if job.state.is_final:
                    raise Conflict(f"job {job_id} has {job.state.value} and cannot be cancelled")
                jobs.finish(connection, self._queue, job, state=JobState.CANCELLED)
            return read_status(connection, job_id)

    def latest_in_brief(self, app: str) -> AnswerInBrief | None:
        """The newest job of `app` that has a recommendation, without its documents. For polls."""
        with self._at_once() as connection:
            row = jobs.latest_in_brief(connection, app)
        return brief_of(row) if row is not None else None

    def answer_in_brief(self, job_id: JobId) -> AnswerInBrief | None:
        """The same of one job; None if it has no recommendation."""
        with self._at_once() as connection:
            row = jobs.answer_in_brief(connection, job_id)
        return brief_of(row) if row is not None else None

    def recommended(self, app: str, limit: int = 3) -> list[Params]:
        """The params of the app's last recommendations that beat the user's file, newest first."""
        with self._transaction() as connection:
            rows = jobs.recommended(connection, app, limit)
        found = [job_of(row).recommendation for row in rows]
        return [answer.params for answer in found if answer is not None]

    # ---- trials and measurements

    def trials(self, job_id: JobId) -> tuple[Trial, ...]:
        """In the order of their numbers. Raises `NotFound`."""
        with self._transaction() as connection:
            jobs.read(connection, job_id)
            return read_trials(connection, job_id)

    def trial(self, job_id: JobId, number: TrialNumber) -> Trial:
        """One trial. Raises `NotFound`."""
        for trial in self.trials(job_id):
            if trial.number == number:
                return trial
        raise NotFound(f"job {job_id} has no trial {number}")

    def measurements(self, job_id: JobId, *, detailed: bool = True) -> tuple[Measurement, ...]:
        """In the order of their plan, with their windows. Raises `NotFound`.

        Without `detailed` the windows have no series and no histogram: those are most of the data.
        """
        with self._transaction() as connection:
            jobs.read(connection, job_id)
            return read_measurements(connection, job_id, detailed=tuple(Phase) if detailed else ())

    def blocks_by_trial(self, job_id: JobId) -> Mapping[TrialNumber, int]:
        """In how many complete blocks each trial was measured; a trial in none is left out."""
        with self._transaction() as connection:
            return read_blocks_by_trial(connection, job_id)

    def claim(self, measurement_id: MeasurementId, host: str) -> Claim | None:
        """Take a measurement for `host` as a new attempt.

        None if it is cancelled, ended, or held by another host that lives.
        """
        with self._transaction() as connection:
            return work.claim(connection, measurement_id, host)

    def is_current(self, measurement_id: MeasurementId, attempt: int) -> bool:
        """Whether the result of this attempt is still wanted; False after a cancel, for example."""
        with self._at_once() as connection:
            return work.is_current(connection, measurement_id, attempt)

    def complete(
        self, measurement_id: MeasurementId, attempt: int, result: MeasurementResult
    ) -> bool:
        """Store a result and have the job advance; False, and nothing stored, if outdated."""
        header = result_header(result)
        state = MeasurementState.COMPLETE
        return self._end(measurement_id, attempt, found=result.windows, state=state, result=header)

    def fail(self, measurement_id: MeasurementId, attempt: int, failure: Failure) -> bool:
        """Store a failure and have the job advance; False, and nothing stored, if outdated."""
        document = to_json(FAILURE, failure)
        return self._end(measurement_id, attempt, state=MeasurementState.FAILED, failure=document)

    def _end(self, measurement_id: MeasurementId, attempt: int, **values: Any) -> bool:
        with self._transaction() as connection:
            return work.finish(connection, self._queue, measurement_id, attempt, **values)

    def release(self, measurement_id: MeasurementId, attempt: int, *, fault: str | None) -> int:
        """Give a measurement back for another attempt; returns its count of host faults.

        Without a `fault` (shutdown, Docker away) the count stays. The queue's retry, or else
        `recover`, runs it again.
        """
        with self._transaction() as connection:
            return work.release(connection, measurement_id, attempt, fault)

    def recover(self, pool: str) -> int:
        """Put lost work of a pool back into the queue; how many tasks. For the sweep."""
        with self._transaction() as connection:
            return work.recover(connection, self._queue, pool)

    # ---- hosts

    def see_host(
        self,
        name: str,
        pool: str,
        fingerprint: HostFingerprint | None = None,
        problem: str | None = None,
    ) -> None:
        """Write that a host reports, and what keeps it from measuring."""
        with self._transaction() as connection:
            hosts.see(connection, name, pool, fingerprint, problem)

    def hosts(self, pool: str | None = None) -> list[BenchmarkHost]:
        """All hosts by name, also those that are gone: see `last_seen`."""
        with self._transaction() as connection:
            return hosts.listed(connection, pool)

    def ping(self) -> None:
        """Raise `Unavailable` unless PostgreSQL answers and our tables are there."""
        with self._transaction() as connection:
            connection.execute(select(jobs_table.c.id).limit(1))

    @contextmanager
    def _at_once(self) -> Iterator[Connection]:
        """For one reading statement: one round trip, without BEGIN and COMMIT."""
        with translated(), self._engine.connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with translated(), self._engine.begin() as connection:
            yield connection
