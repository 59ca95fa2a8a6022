"""Jobs: what runs, what waits and until when, all that was ever asked for; and the hosts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from tuner.nouns.masking import masked
from tuner.nouns.model import BenchmarkHost, JobId, JobKind, JobState, is_live
from tuner.nouns.schemas import JobAnswer
from tuner.service.api.jobs import OfKind
from tuner.service.api.listings import list_pools
from tuner.service.api.parameters import After, Id, InState, Limit, OfApp
from tuner.service.api.services import Services, Wired
from tuner.service.api.views import job_answer, job_page
from tuner.service.pages.answering import base_of, page
from tuner.service.pages.signing_in import Form

# ---- Which jobs run and wait, and when each that waits is expected to start

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


# ---- Jobs: what runs, what waits, and all that was ever asked for; cancel

router = APIRouter()


@router.get("/jobs")
def jobs(
    request: Request,
    services: Wired,
    kind: OfKind = None,
    app: OfApp = None,
    state: InState = None,
    after: After = None,
    limit: Limit = 50,
) -> Response:
    """Jobs, newest first. The filters are in the address."""
    cursor = JobId(after) if after is not None else None
    found = job_page(services.store.jobs(app, state, cursor, limit, kind=kind), limit)
    filters = {"kind": kind, "app": app, "state": state, "limit": limit if limit != 50 else None}
    return page(
        request,
        "jobs.html.j2",
        calls=["/v1/jobs" + _query(filters | {"after": after})],
        open_jobs=[] if after else open_jobs(services),
        found=masked(found),
        filters=filters,
        after=after,
        address=lambda **changes: "/jobs" + _query(filters | changes),
        kinds=list(JobKind),
        states=list(JobState),
    )


def _query(fields: dict[str, Any]) -> str:
    given = {name: str(value) for name, value in fields.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""


@router.post("/jobs/{id}/cancel")
def cancel(job_id: Id, request: Request, form: Form, services: Wired) -> Response:
    """Cancel a job, and show it."""
    services.store.cancel(services.changed(job_id), by=services.by)
    return RedirectResponse(f"{base_of(request)}/jobs/{job_id}", status_code=303)


# ---- Hosts: who measures, what keeps them from it, and how small an effect they can show


@router.get("/hosts")
def hosts(request: Request, services: Wired) -> Response:
    """Pools with their hosts."""
    found = masked(list_pools(services))
    return page(request, "hosts.html.j2", calls=["/v1/pools"], found=found)
