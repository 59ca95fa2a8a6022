"""The earlier job of a request that comes again: a command that was stopped goes on with it."""

from collections.abc import Iterator
from datetime import timedelta

from tuner.nouns.model import JobSpec, JobState, JobStatus, JobSummary, Priority
from tuner.service.api.services import Services

_MOST = 200
"""Newest jobs of an app in one state that are looked at."""


def equal_job(
    services: Services, spec: JobSpec, max_age_days: float | None = None
) -> JobStatus | None:
    """The job of an equal spec that runs, else the newest one that waits; None without any.

    With `max_age_days`, also one that succeeded at most so many days ago, unless it is to be
    measured again. A spec has the texts of its files: with another text it is another job.
    """
    asked = _as_asked(spec, spec)
    for found in _candidates(services, spec, max_age_days):
        job = services.store.job(found.id)
        if job.measure_again is None and _as_asked(job.spec, spec) == asked:
            return services.store.status(found.id)
    return None


def _candidates(
    services: Services, spec: JobSpec, max_age_days: float | None
) -> Iterator[JobSummary]:
    def jobs(state: JobState) -> Iterator[JobSummary]:
        yield from services.store.jobs(spec.app, state, None, _MOST, kind=spec.kind)

    yield from jobs(JobState.RUNNING)
    yield from jobs(JobState.QUEUED)
    if max_age_days is not None:
        oldest = services.now() - timedelta(days=max_age_days)
        ended = jobs(JobState.SUCCEEDED)
        yield from (job for job in ended if job.finished_at and job.finished_at >= oldest)


def _as_asked(spec: JobSpec, like: JobSpec) -> JobSpec:
    """Without what came from elsewhere: answers of earlier jobs, the file that was in the image.

    Also without the priority: it decides when a job starts, not what it finds.
    """
    read_later = {"baseline_ini": ""} if like.awaits_file else {}
    by_itself = {"because": (), "follows": None}  # of a schedule
    update = {"seeds": (), "priority": Priority.INTERACTIVE, **by_itself, **read_later}
    return spec.model_copy(update=update)
