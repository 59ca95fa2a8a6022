"""Which jobs run and wait, and when each that waits is expected to start."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tuner.api.services import Services
from tuner.api.views import job_answer
from tuner.model import JobId, JobState
from tuner.schemas import JobAnswer

_MOST = 20
"""Jobs of each state that are looked at: more would make the page slow, and say little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A job that has not ended. A time is None where nobody can say it."""

    job: JobAnswer
    starts_at: datetime | None
    ends_at: datetime | None


def open_jobs(services: Services) -> Sequence[Open]:
    """Jobs that run, then those that wait in their order.

    Each pool measures one job at a time, so a job waits for all before it. A tuning job may end
    early, and so may those that wait for it: a start is expected at the latest, unless a job comes
    that goes first.
    """
    free_at: defaultdict[str, datetime | None] = defaultdict(services.now)
    found = []
    for state in (JobState.RUNNING, JobState.QUEUED):
        listed = services.store.jobs(None, state, None, _MOST, kind=None)
        answers = (job_answer(services.store.status(JobId(job.id))) for job in listed)
        for answer in sorted(answers, key=lambda job: (job.queue_position or 0, job.id)):
            if answer.state.is_final:
                continue  # it ended meanwhile
            starts_at = None if answer.waits_for else free_at[answer.pool]
            free_at[answer.pool] = ends_at = _end(answer, starts_at)
            found.append(Open(job=answer, starts_at=starts_at, ends_at=ends_at))
    return found


def _end(job: JobAnswer, starts_at: datetime | None) -> datetime | None:
    left_s = job.size.takes_s if job.state is JobState.QUEUED else job.progress.eta_s
    if starts_at is None or left_s is None:
        return None
    return starts_at + timedelta(seconds=left_s)
