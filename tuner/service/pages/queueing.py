"""Which jobs run and wait, and when each that waits is expected to start."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import heappop, heappush

from tuner.nouns.model import BenchmarkHost, JobId, JobState, is_live
from tuner.nouns.schemas import JobAnswer
from tuner.service.api.services import Services
from tuner.service.api.views import job_answer

_MOST = 20
"""Jobs that wait: more would make the page slow, and say little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A job that has not ended. A time is None where nobody can say it."""

    job: JobAnswer
    starts_at: datetime | None
    ends_at: datetime | None


def open_jobs(services: Services) -> Sequence[Open]:
    """Jobs that run, then those that wait: the next ones first.

    Each host measures one job at a time, and a job gets the host of its pool that is free first. A
    tuning job may end early, and so may those that wait for it: a start is expected at the latest,
    unless a job comes that goes first. A job that lost its host goes before those that wait.
    """
    store, now = services.store, services.now()
    hosts = [host for host in store.hosts() if is_live(host, now) and not host.hindrance]
    # All that have a host, or a host of the others would look as if it were never free.
    running = store.jobs(None, JobState.RUNNING, None, len(hosts) + _MOST, kind=None)
    ids = [*sorted(JobId(job.id) for job in running), *store.next_jobs(_MOST)]
    answers = [job_answer(store.status(job)) for job in ids]
    has_host = {host.job for host in hosts}
    ends = {int(job.id): _end(job, now) for job in answers if job.id in has_host}
    free = _free_hosts(hosts, ends, now)
    found = []
    for job in answers:
        if job.state.is_final:
            continue  # it ended meanwhile
        starts_at, ends_at = None, ends.get(job.id)
        if job.id not in has_host and free[job.pool]:
            starts_at = heappop(free[job.pool])
            if (ends_at := _end(job, starts_at)) is not None:
                heappush(free[job.pool], ends_at)
        found.append(Open(job=job, starts_at=starts_at, ends_at=ends_at))
    return found


def _free_hosts(
    hosts: Iterable[BenchmarkHost], ends: Mapping[int, datetime | None], now: datetime
) -> Mapping[str, list[datetime]]:
    """When the hosts of each pool are free, as heaps; without those whose end is not known."""
    free: defaultdict[str, list[datetime]] = defaultdict(list)
    for host in hosts:
        free_at = now if host.job is None else ends.get(host.job)
        if free_at is not None:
            heappush(free[host.pool], free_at)
    return free


def _end(job: JobAnswer, starts_at: datetime | None) -> datetime | None:
    left_s = job.size.takes_s if job.state is JobState.QUEUED else job.progress.eta_s
    if starts_at is None or left_s is None:
        return None
    return starts_at + timedelta(seconds=left_s)
