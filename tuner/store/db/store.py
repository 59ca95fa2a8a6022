"""The store: all reads and writes of PostgreSQL.

Each method but `advance` is one transaction. Each raises `Unavailable` when PostgreSQL is away or
full: then nothing has changed, or the answer was lost; the caller may repeat the call.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Column, Connection, Select, and_, bindparam, func, literal, select
from sqlalchemy.dialects.postgresql import JSONB

from tuner.nouns.errors import Conflict, NotFound
from tuner.nouns.model import (
    ANEW,
    Action,
    AnswerInBrief,
    Asked,
    EventKind,
    History,
    Job,
    JobId,
    JobKind,
    JobSpec,
    JobState,
    JobStatus,
    JobSummary,
    Measurement,
    Params,
    Phase,
    Step,
    Trial,
    TrialNumber,
    Verdict,
    why_not_finish,
)
from tuner.store.db import events, jobs
from tuner.store.db.apps import Apps, Checks
from tuner.store.db.events import Totals
from tuner.store.db.hosts import Hosts
from tuner.store.db.jobs import first_in_line
from tuner.store.db.keys import Keys, Links, note
from tuner.store.db.retention import Retention
from tuner.store.db.rows import fits, noun_of
from tuner.store.db.status import (
    read_blocks_by_trial,
    read_history,
    read_measurements,
    read_status,
    read_statuses,
    read_trials,
    read_version,
    status_of_new,
)
from tuner.store.db.steps import apply_step
from tuner.store.db.tables import jobs as jobs_table
from tuner.store.db.tables import trials as trials_table
from tuner.store.db.work import Recovery, Work

MOST_STEPS = 5_000  # of one advance; a study with more runs in circles

_SUMMARY = [jobs_table.c[name] for name in JobSummary.model_fields]

# Built once, not for every poll.
_IS_ANSWERED = and_(jobs_table.c.kind == JobKind.TUNE, jobs_table.c.state == JobState.SUCCEEDED)
_columns = jobs_table.c
_ANSWERED = select(
    _columns.id.label("job"),
    _columns.revision,
    _columns.verdict,
    _columns.finished_at,
    func.coalesce(_columns.recommendation["doubts"], literal([], JSONB)).label("doubts"),
)
_IN_BRIEF = _ANSWERED.where(_IS_ANSWERED, jobs_table.c.id == bindparam("job_id"))
_LATEST_IN_BRIEF = (
    _ANSWERED.where(_IS_ANSWERED, jobs_table.c.app == bindparam("app"))
    .order_by(jobs_table.c.id.desc())
    .limit(1)
)


def _created_earlier(
    connection: Connection, by_key: str, key: str | None, request_sha256: str
) -> JobStatus:
    """The job that `by_key` created with that key. Raises `Conflict` for another request."""
    columns = jobs_table.c
    query = select(columns.id, columns.request_sha256).where(
        columns.submitted_key == by_key, columns.idempotency_key == key
    )
    earlier = connection.execute(query).one()
    if earlier.request_sha256 != request_sha256:
        raise Conflict(
            f"the idempotency key {key!r} belongs to job {earlier.id}, "
            "which was another request; use a new key"
        )
    return read_status(connection, JobId(earlier.id))


class Store(Work, Recovery, Hosts, Apps, Checks, Links, Totals, Retention, Keys):
    """Jobs, trials, measurements and hosts in PostgreSQL. Threads may share one."""

    # ---- jobs

    def create_job(
        self,
        spec: JobSpec,
        asked: Asked = ANEW,
        *,
        idempotency_key: str | None,
        request_sha256: str,
        by: str | None = None,
        by_key: str = "",
        most_waiting: int | None = None,
    ) -> tuple[JobStatus, bool]:
        """A queued job and True; for a used key, or with `asked.go_on`, an earlier one and False.

        `by` is who submits it, `by_key` the name of the API key: idempotency keys are its own. Of
        equal requests at once that go on, one makes the job.

        Raises `LimitReached` where more than `most_waiting` jobs of the API key would wait, and
        `Conflict` where the key came with another request.
        """
        own = {
            "idempotency_key": idempotency_key,
            "request_sha256": request_sha256,
            "asked_sha256": asked.sha256,
            "submitted_by": by,
            "submitted_key": by_key,
        }
        with self._transaction() as connection:
            if (equal := jobs.asked_before(connection, asked)) is not None:
                return read_status(connection, equal), False
            row = jobs.insert_queued(connection, spec, own)
            if row is None:
                return _created_earlier(connection, by_key, idempotency_key, request_sha256), False
            if most_waiting is not None:
                jobs.require_few_waiting(connection, by_key, most_waiting)
            job = replace(noun_of(Job, row), spec=spec)
            note(connection, by, Action.SUBMIT, job.id, spec.app)
            events.write_of_job(connection, job.id, {EventKind.JOB: ()})
            events.write_of_pool(connection, spec.pool, EventKind.QUEUE)
            self._queue.defer_advance(jobs.raw(connection), job.id, spec.pool)
            return status_of_new(connection, job), True

    def job(self, job_id: JobId) -> Job:
        """One job. Raises `NotFound`."""
        with self._at_once() as connection:
            return jobs.read(connection, job_id)

    def pool_of(self, job_id: JobId) -> str:
        """The pool of a job, in one statement. Raises `NotFound`."""
        return self._of(job_id, jobs_table.c.pool)

    def app_of(self, job_id: JobId) -> str:
        """The app of a job, in one statement. Raises `NotFound`."""
        return self._of(job_id, jobs_table.c.app)

    def _of(self, job_id: JobId, column: Column[str]) -> str:
        with self._at_once() as connection:
            found = connection.execute(select(column).where(jobs_table.c.id == job_id)).scalar()
        if found is None:
            raise NotFound(f"there is no job {job_id}")
        return found

    def jobs(
        self,
        app: str | None = None,
        state: JobState | None = None,
        after: JobId | None = None,
        limit: int = 50,
        *,
        kind: JobKind | None = None,
        among: Collection[str] = (),
    ) -> list[JobSummary]:
        """Newest first; `after` is the last id of the page before, `among` are globs of apps."""
        wanted = {"app": app, "state": state, "kind": kind}
        query = select(*_SUMMARY).filter_by(
            **{column: value for column, value in wanted.items() if value is not None}
        )
        if after is not None:
            query = query.where(jobs_table.c.id < after)
        if among:
            query = query.where(fits(jobs_table.c.app, among))
        query = query.order_by(jobs_table.c.id.desc()).limit(limit)
        with self._transaction() as connection:
            return [JobSummary(**row) for row in connection.execute(query).mappings()]

    def status(self, job_id: JobId) -> JobStatus:
        """Where a job stands: two statements for a job of any size. Raises `NotFound`."""
        with self._transaction() as connection:
            return read_status(connection, job_id)

    def statuses(self, job_ids: Collection[JobId]) -> list[JobStatus]:
        """Where these jobs stand, in their order, in two statements; without those not there."""
        with self._transaction() as connection:
            return read_statuses(connection, job_ids)

    def version(self, job_id: JobId) -> str:
        """The version of the job's status, in one statement. Raises `NotFound`."""
        with self._at_once() as connection:
            return read_version(connection, job_id)

    def history(self, job_id: JobId, *, windows_of: Collection[Phase] | None = None) -> History:
        """All rows of a job, or only the windows of some phases. Raises `NotFound`."""
        with self._transaction() as connection:
            row = jobs.read_row(connection, job_id)
            return read_history(connection, row, windows_of=windows_of)

    def advance(self, job_id: JobId, decide: Callable[[History], Step | None]) -> None:
        """Apply the steps of `decide` until it returns None.

        `decide` may think for seconds, so it holds no lock and no connection. Each step is one
        transaction. A job that changes meanwhile is read and decided again: that ends, because
        its hosts have nothing to report once their open measurements are done. Raises `NotFound`.
        """
        history: History | None = None
        for _ in range(MOST_STEPS):
            history = history or self._open_history(job_id)
            step = decide(history) if history is not None else None
            if history is None or step is None:
                return
            history = self._take(history, step)
        raise RuntimeError(f"job {job_id}: no end after {MOST_STEPS} steps")

    def _open_history(self, job_id: JobId) -> History | None:
        """All rows of a job to decide on; None if the job has ended."""
        with self._transaction() as connection:
            row = jobs.read_row(connection, job_id)
            if JobState(row["state"]).is_final:
                return None
            history = read_history(connection, row)
            if history.may_start:
                return history  # its start asks again, with the lock of the pool
            jobs.lock_pool(connection, row["pool"])
            return replace(history, may_start=jobs.may_start(connection, job_id))

    def _take(self, history: History, step: Step) -> History | None:
        """Write a step if the job is as it was read. None: it must be read again."""
        with self._transaction() as connection:
            if not jobs.lock_unchanged(connection, history):
                return None
            return apply_step(connection, self._queue, history, step)

    def next_jobs(self, limit: int) -> list[JobId]:
        """Queued jobs of all pools: those that are next in their pools, then those after them."""
        with self._at_once() as connection:
            return [JobId(job) for job in connection.execute(first_in_line(limit)).scalars()]

    def cancel(self, job_id: JobId, *, by: str | None = None) -> JobStatus:
        """Cancel a job and all its open measurements; cancelling twice is no error.

        Raises `NotFound`, or `Conflict` if the job has ended otherwise.
        """
        with self._transaction() as connection:
            job = jobs.read(connection, job_id, lock=True)
            if job.state is not JobState.CANCELLED:
                if job.state.is_final:
                    raise Conflict(f"job {job_id} has {job.state.value} and cannot be cancelled")
                note(connection, by, Action.CANCEL, job_id)
                jobs.finish(connection, self._queue, job, state=JobState.CANCELLED)
            return read_status(connection, job_id)

    def finish_now(self, job_id: JobId, *, by: str | None = None) -> JobStatus:
        """Have a job go its shortest honest way to an answer; asking twice in a phase is once.

        Raises `NotFound`, or `Conflict` where it has no shorter way: see `why_not_finish`.
        """
        with self._transaction() as connection:
            job = jobs.read(connection, job_id, lock=True)
            if (reason := why_not_finish(job)) is not None:
                raise Conflict(reason)
            if job.finish_in is not job.phase:
                note(connection, by, Action.FINISH, job_id)
                jobs.drop_open(connection, job)
                jobs.change(connection, job_id, {EventKind.JOB: ()}, finish_in=job.phase)
                self._queue.defer_advance(jobs.raw(connection), job_id, job.spec.pool)
            return read_status(connection, job_id)

    def latest_in_brief(self, app: str) -> AnswerInBrief | None:
        """The newest job of `app` that has a recommendation, without its documents. For polls."""
        return self._in_brief(_LATEST_IN_BRIEF, app=app)

    def answer_in_brief(self, job_id: JobId) -> AnswerInBrief | None:
        """The same of one job; None if it has no recommendation."""
        return self._in_brief(_IN_BRIEF, job_id=job_id)

    def _in_brief(self, query: Select[Any], **values: object) -> AnswerInBrief | None:
        with self._at_once() as connection:
            row = connection.execute(query, values).mappings().one_or_none()
        return noun_of(AnswerInBrief, row) if row is not None else None

    def recommended(self, app: str, limit: int = 3) -> list[Params]:
        """The params of the app's last recommendations that beat the user's file, newest first."""
        columns = jobs_table.c
        query = (
            select(columns.recommendation["params"])
            .where(_IS_ANSWERED, columns.app == app, columns.verdict == Verdict.BETTER)
            .order_by(columns.id.desc())
            .limit(limit)
        )
        with self._transaction() as connection:
            return list(connection.execute(query).scalars())

    # ---- trials and measurements; the other parts of the store have more

    def trials(self, job_id: JobId) -> tuple[Trial, ...]:
        """In the order of their numbers. Raises `NotFound`."""
        with self._transaction() as connection:
            jobs.read(connection, job_id)
            return read_trials(connection, job_id)

    def trial(self, job_id: JobId, number: TrialNumber) -> Trial:
        """One trial. Raises `NotFound`."""
        columns = trials_table.c
        query = select(trials_table).where(columns.job_id == job_id, columns.number == number)
        with self._at_once() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            raise NotFound(f"job {job_id} has no trial {number}")
        return noun_of(Trial, row)

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

    def ping(self) -> None:
        """Raise `Unavailable` unless PostgreSQL answers and our tables are there."""
        with self._transaction() as connection:
            connection.execute(select(jobs_table.c.id).limit(1))
