"""All jobs, and one: where it stands, what it has found, why to believe it."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import RedirectResponse

from tuner.nouns.errors import NotFound
from tuner.nouns.masking import masked
from tuner.nouns.model import (
    BenchmarkHost,
    JobId,
    JobKind,
    JobState,
    JobStatus,
    Link,
    Phase,
    is_live,
    why_not_finish,
)
from tuner.nouns.schemas import JobAnswer
from tuner.service.api.jobs import OfKind
from tuner.service.api.listings import list_pools
from tuner.service.api.parameters import MAX_NUMBER, After, Id, InState, Limit, OfApp, unchanged
from tuner.service.api.security import session_of
from tuner.service.api.services import Services, Wired
from tuner.service.api.views import job_answer, job_page
from tuner.service.pages.answering import (
    MOST_ROWS,
    base_of,
    edition,
    hashed,
    not_modified,
    packed,
    page,
    slug,
)
from tuner.service.pages.findings import findings_of
from tuner.service.pages.signing_in import Form
from tuner.show.evidence import Section, Table, Words, tables_in, words_of

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
    answers = [job_answer(status) for status in store.statuses(ids)]
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


@router.post("/jobs/{id}/finish")
def finish(job_id: Id, request: Request, form: Form, services: Wired) -> Response:
    """Have a job confirm its best so far, and show it."""
    services.store.finish_now(services.changed(job_id), by=services.by)
    return RedirectResponse(f"{base_of(request)}/jobs/{job_id}", status_code=303)


# ---- Hosts: who measures, what keeps them from it, and how small an effect they can show


@router.get("/hosts")
def hosts(request: Request, services: Wired) -> Response:
    """Pools with their hosts."""
    found = masked(list_pools(services))
    return page(request, "hosts.html.j2", calls=["/v1/pools"], found=found)


# ---- One job: where it stands, what it has found, why to believe it. Parts come again as it runs

_PHASES = {
    JobKind.TUNE: (
        Phase.PREPARE,
        Phase.CALIBRATE,
        Phase.SEARCH,
        Phase.RACE,
        Phase.ABLATE,
        Phase.CONFIRM,
        Phase.CONDITIONS,
        Phase.DONE,
    ),
    JobKind.COMPARE: (Phase.PREPARE, Phase.COMPARE, Phase.DONE),
    JobKind.CALIBRATE: (Phase.PREPARE, Phase.CALIBRATE, Phase.DONE),
}

_FORMULA = re.compile(r"\s*[=@+-]|[\t\r\n]")
_FIGURES = re.compile(r"(?:[-+0-9.,%()\s]|(?<=[\d\s])(?:ms|s|min|h|MB|GB)\b)*")

Name = Annotated[str, Path(pattern=r"^[^\s/]{1,100}$", description="of a section with a table")]

Page = Annotated[int, Query(alias="page", ge=1, le=MAX_NUMBER)]

_LINK_DAYS = (30, 7, 90, 365)  # the default first
"""How long a link may last, besides until it is revoked."""


@router.get("/jobs/{id}")
def job(job_id: Id, request: Request, services: Wired) -> Response:
    """The whole page, with the links for others."""
    links = services.store.links(JobId(job_id))
    return shown(request, services, job_id, "job.html.j2", own=f"/jobs/{job_id}", links=links)


@router.get("/jobs/{id}/parts")
def parts(job_id: Id, request: Request, services: Wired) -> Response:
    """What changes while the job runs; a change asks for it, with its tag."""
    return shown(request, services, job_id, "job_parts.html.j2", own=f"/jobs/{job_id}")


def shown(
    request: Request,
    services: Services,
    job_id: int,
    template: str,
    *,
    own: str,
    links: Sequence[Link] = (),
) -> Response:
    """A page of a job whose addresses begin with `own`.

    The tag is that of the call with the program's version: a 304 costs one short statement.
    """
    if "if-none-match" in request.headers:
        tag = _tag(request, services.store.version(JobId(job_id)), links)
        if unchanged(request, tag):
            return not_modified(tag)
    status = services.store.status(JobId(job_id))
    return page(
        request,
        template,
        tag=_tag(request, status.version, links),
        etag=_tag(request, status.version),  # of the parts
        own=own,
        links=links,
        link_days=link_days(services),
        now=services.now(),
        **_context(services, status),
    )


def _tag(request: Request, version: str, links: Sequence[Link] = ()) -> str:
    """Another session has other forms; links change without the job."""
    session = session_of(request)
    seen = hashed(f"{session.token if session else None} {links!r}")
    return f'W/"{edition()}-{version}-{seen}"'


def _context(services: Services, status: JobStatus) -> dict[str, Any]:
    answer = job_answer(status)
    found = findings_of(services, status.job)
    left_s = None if answer.waits_for else answer.progress.eta_s
    return {
        "calls": _calls(answer, has_report=found.headline is not None),
        "job": answer,
        "may_finish": why_not_finish(status.job) is None,
        "ends_at": services.now() + timedelta(seconds=left_s) if left_s else None,
        "starts_at": _start(services, status),
        "phases": _PHASES[answer.kind],
        "found": found,
    }


def _calls(job: JobAnswer, *, has_report: bool) -> list[str]:
    """The calls that say the same as the page."""
    own = f"/v1/jobs/{job.id}"
    if has_report:
        return [own, f"{own}/report?format=json"]
    return [own, f"{own}/trials"] if job.kind is JobKind.TUNE else [own]


def _start(services: Services, status: JobStatus) -> datetime | None:
    """When a queued job is expected to start; None for others, and where nobody can say."""
    if status.queue_position is None:
        return None
    waiting = (each for each in open_jobs(services) if each.job.id == status.job.id)
    return next((each.starts_at for each in waiting), None)


@router.get("/jobs/{id}/tables/{name}.csv")
def table_as_csv(job_id: Id, name: Name, request: Request, services: Wired) -> Response:
    """The figures of a section as CSV: what the chart above them shows."""
    return csv_shown(request, services, job_id, name)


@router.get("/jobs/{id}/tables/{name}")
def table(job_id: Id, name: Name, request: Request, services: Wired, number: Page = 1) -> Response:
    """The tables of a section, page by page."""
    return table_shown(request, services, job_id, name, number, own=f"/jobs/{job_id}")


def csv_shown(request: Request, services: Services, job_id: int, name: str) -> Response:
    """All tables of a section of a job's page as CSV."""
    _, tables = _tables(services, job_id, name)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for table in tables:
        writer.writerow(table.headings)
        writer.writerows([_plain(cell) for cell in row] for row in table.rows)
    file = {"Content-Disposition": f'attachment; filename="job-{job_id}.csv"'}
    return packed(request, text.getvalue(), "text/csv", {"Cache-Control": "no-store", **file})


def table_shown(
    request: Request, services: Services, job_id: int, name: str, number: int, *, own: str
) -> Response:
    """A page of the tables of a section. Addresses of the job begin with `own`."""
    section, tables = _tables(services, job_id, name)
    first = (number - 1) * MOST_ROWS
    most = max(len(each.rows) for each in tables)
    if first >= most and number > 1:
        raise NotFound(f"this table has {-(-most // MOST_ROWS)} pages")
    return page(
        request,
        "table.html.j2",
        calls=[f"/v1/jobs/{job_id}"],
        own=own,
        job_id=job_id,
        section=section,
        name=name,
        tables=[_cut(each, first) for each in tables],
        number=number,
        pages=max(1, -(-most // MOST_ROWS)),
    )


def link_days(services: Services) -> list[int]:
    """The days that a new link may last, the default first."""
    return [days for days in _LINK_DAYS if days <= services.link_days] or [int(services.link_days)]


def _tables(services: Services, job_id: int, name: str) -> tuple[Section, tuple[Table, ...]]:
    found = findings_of(services, services.store.job(JobId(job_id)))
    for section in found.sections:
        if slug(section) == name and (tables := tables_in(section.parts)):
            return section, tables
    raise NotFound(f"job {job_id} has no table {name!r}")


def _cut(table: Table, first: int) -> Table:
    last = first + MOST_ROWS
    return Table(table.headings, table.rows[first:last], table.whiskers[first:last])


def _plain(words: Words) -> str:
    """A cell as text. A spreadsheet must not take a name for a formula; figures may have a sign."""
    text = "".join(word if isinstance(word, str) else word.text for word in words_of(words))
    is_formula = _FORMULA.match(text) and not (text.strip() and _FIGURES.fullmatch(text))
    return f"'{text}" if is_formula else text
