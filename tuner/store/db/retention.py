"""What goes from the database: a job that somebody deletes, and what is old.

Windows are most of the data. Those behind a verdict are few, and reports are made of them: they
stay with the job, its trials and its answer. Those of the search and the time series go first.
"""

from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import ColumnElement, Connection, and_, delete, func, select, text, update

from tuner.nouns.errors import Conflict
from tuner.nouns.model import BYTES_PER_MB, Action, EventKind, JobId, JobKind, JobState, Phase
from tuner.store.db import events
from tuner.store.db import jobs as job_rows
from tuner.store.db.engine import Database
from tuner.store.db.keys import note
from tuner.store.db.tables import checks, jobs, measurements, windows

_DECIDING = (Phase.CONFIRM, Phase.CONDITIONS, Phase.COMPARE)
_SERIES = ("series", "over_time")
_ENDED = tuple(state for state in JobState if state.is_final)
_later = jobs.alias("later")
_is_newest_answer = and_(
    jobs.c.kind == JobKind.TUNE,
    jobs.c.state == JobState.SUCCEEDED,
    ~select(_later.c.id)
    .where(
        _later.c.app == jobs.c.app,
        _later.c.kind == JobKind.TUNE,
        _later.c.state == JobState.SUCCEEDED,
        _later.c.id > jobs.c.id,
    )
    .exists(),
)


class Retention(Database):
    """The store's calls about what goes."""

    def delete_job(self, job_id: JobId, *, by: str | None = None) -> None:
        """Delete a job with all its rows. Raises `NotFound`, or `Conflict` if it has not ended."""
        with self._transaction() as connection:
            job = job_rows.read(connection, job_id, lock=True)
            if not job.state.is_final:
                raise Conflict(f"job {job_id} is {job.state.value}: cancel it first")
            note(connection, by, Action.DELETE, job_id, job.spec.app)
            _delete(connection, job_id)

    def prune_windows(self, age: timedelta) -> int:
        """Remove windows and series of jobs that ended earlier; of how many jobs.

        The windows that decided the verdict stay, without their series.
        """
        return self._each(_ended_before(age) & jobs.c.pruned_at.is_(None), _remove_windows)

    def prune_jobs(self, age: timedelta) -> int:
        """Delete jobs that ended earlier, but for what pipelines still ask for; how many.

        That is the newest answer of each app, and the jobs of its last checks.
        """
        is_checked = select(checks.c.job_id).where(checks.c.job_id == jobs.c.id).exists()
        return self._each(_ended_before(age) & ~_is_newest_answer & ~is_checked, _delete)

    def compact(self) -> None:
        """Give the room of what was removed to the disk. Others wait, or get `Unavailable`."""
        with self._at_once() as connection:
            connection.execute(text("SET statement_timeout = 0"))
            try:
                connection.execute(text("VACUUM (FULL, ANALYZE) windows, measurements, trials"))
            finally:
                connection.execute(text("RESET statement_timeout"))

    def size_mb(self) -> float:
        """The size of the database."""
        with self._at_once() as connection:
            query = select(func.pg_database_size(func.current_database()))
            return float(connection.execute(query).scalar_one()) / BYTES_PER_MB

    def _each(
        self, wanted: ColumnElement[bool], remove: Callable[[Connection, JobId], None]
    ) -> int:
        """One transaction for each job: nobody waits long, and what is done stays done."""
        query = select(jobs.c.id).where(wanted).order_by(jobs.c.id).limit(1)
        last, removed = 0, 0
        while True:
            following = query.where(jobs.c.id > last).with_for_update(skip_locked=True)
            with self._transaction() as connection:
                job_id = connection.execute(following).scalar()
                if job_id is None:
                    return removed
                remove(connection, JobId(job_id))
            last, removed = job_id, removed + 1


def _ended_before(age: timedelta) -> ColumnElement[bool]:
    return jobs.c.state.in_(_ENDED) & (jobs.c.finished_at < func.now() - age)


def _delete(connection: Connection, job_id: JobId) -> None:
    connection.execute(delete(jobs).where(jobs.c.id == job_id))
    events.write_of_job(connection, job_id, {EventKind.JOB: ()})


def _remove_windows(connection: Connection, job_id: JobId) -> None:
    made = select(measurements.c.id).where(measurements.c.job_id == job_id)
    of_job = windows.c.measurement_id.in_(made)
    of_search = windows.c.measurement_id.in_(made.where(measurements.c.phase.not_in(_DECIDING)))
    connection.execute(delete(windows).where(of_search))
    connection.execute(update(windows).where(of_job).values(dict.fromkeys(_SERIES)))
    job_rows.change(connection, job_id, {EventKind.JOB: ()}, pruned_at=func.now())
