"""Jobs of all kinds: submit, list, look at, cancel, delete; their raw data; links to one job."""

import secrets
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from tuner.nouns.model import JobId, JobKind, JobSpec, JobState, JobStatus, JobSummary, Priority
from tuner.nouns.schemas import JobAnswer, JobPage, LinkList, NewLink, WindowList
from tuner.service.api import reference, views
from tuner.service.api.parameters import (
    MAX_AGE_DAYS,
    MAX_ID,
    After,
    Body,
    Id,
    IfNoneMatch,
    InState,
    Key,
    Limit,
    OfApp,
    tagged,
    unchanged,
)
from tuner.service.api.problems import documented
from tuner.service.api.reading import read_request, sha256_of
from tuner.service.api.security import SHARED
from tuner.service.api.services import Services, Wired
from tuner.service.api.sizes import require_allowed_time

# ---- The earlier job of a request that comes again: a command that was stopped goes on with it

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


# ---- Jobs of all kinds: submit, list, look at, cancel, delete; their raw data

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

OfKind = Annotated[JobKind | None, Query(description="of this kind", examples=["tune"])]
GoOn = Annotated[
    bool,
    Query(
        description="true: where an equal job has not ended, the answer is that job, no new one",
        examples=[True],
    ),
]
WithinDays = Annotated[
    float | None,
    Query(
        alias="max_age_days",
        gt=0,
        le=MAX_AGE_DAYS,
        description="with go_on: or an equal job that has succeeded and is not older",
        examples=[1],
    ),
]


@router.post(
    "",
    status_code=201,
    response_model=JobAnswer,
    openapi_extra=reference.body("TuneRequest", "CompareRequest", "CalibrateRequest"),
    responses={**reference.created(JobAnswer), **documented(409, 413, 415, 422, 429)},
)
def submit(
    document: Body,
    response: Response,
    services: Wired,
    idempotency_key: Key = None,
    go_on: GoOn = False,
    max_age_days: WithinDays = None,
) -> JobAnswer:
    """Tune an app, compare files, or calibrate a host: `kind` says which. Default: tune."""
    status, is_new = submitted(
        services, document, idempotency_key=idempotency_key, go_on=go_on, max_age_days=max_age_days
    )
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = f"/v1/jobs/{status.job.id}"
    return views.job_answer(status)


def submitted(
    services: Services,
    document: Any,
    *,
    idempotency_key: str | None = None,
    go_on: bool = False,
    max_age_days: float | None = None,
) -> tuple[JobStatus, bool]:
    """The job that a document asks for, and whether it is new.

    Raises `InvalidInput`, `Forbidden` or `LimitReached`.
    """
    spec = read_request(document, services.resolve)
    services.require_theirs(spec.app)
    require_allowed_time(spec, services.job_minutes)
    known = equal_job(services, spec, max_age_days) if go_on else None
    if known is not None:
        return known, False
    return services.store.create_job(
        spec,
        idempotency_key=idempotency_key,
        request_sha256=sha256_of({**document, "kind": spec.kind}),
        by=services.by,
        most_waiting=services.jobs_waiting,
    )


@router.get("", responses=documented(422))
def list_jobs(
    services: Wired,
    kind: OfKind = None,
    app: OfApp = None,
    state: InState = None,
    after: After = None,
    limit: Limit = 50,
) -> JobPage:
    """Jobs, newest first."""
    cursor = JobId(after) if after is not None else None
    return views.job_page(services.store.jobs(app, state, cursor, limit, kind=kind), limit)


@router.get(
    "/{id}", response_model=JobAnswer, responses={**reference.NOT_MODIFIED, **documented(404, 422)}
)
def show_job(
    job_id: Id, request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """State, phase, progress and figures so far. Poll it with its ETag."""
    if if_none_match is not None:
        tag = _tag(services.store.version(JobId(job_id)))
        if unchanged(request, tag):
            return Response(status_code=304, headers={"ETag": tag})
    status = services.store.status(JobId(job_id))
    return tagged(views.job_answer(status), _tag(status.version))


@router.post("/{id}/cancel", responses=documented(404, 409, 422))
def cancel_job(job_id: Id, services: Wired) -> JobAnswer:
    """Cancel a job: its running measurement stops within 2 s and leaves nothing behind."""
    return views.job_answer(services.store.cancel(services.changed(job_id), by=services.by))


@router.delete("/{id}", status_code=204, responses=documented(404, 409, 422))
def delete_job(job_id: Id, services: Wired) -> None:
    """Delete a job that has ended, with its trials, windows, answer and links. It cannot return."""
    services.store.delete_job(services.changed(job_id), by=services.by)


@router.get("/{id}/windows", response_model=WindowList, responses=documented(404, 422))
def list_windows(job_id: Id, services: Wired) -> Response:
    """Every window as it was measured, void windows included."""
    job = services.store.job(JobId(job_id))
    found = views.window_list(job, services.store.measurements(job.id))
    return Response(found.model_dump_json(), media_type="application/json")


def _tag(version: str) -> str:
    """A weak tag: two answers of one version may differ in bytes."""
    return f'W/"{version}"'


# ---- Read-only links to one job, for somebody without the key: make, list, revoke

of_links = APIRouter(prefix="/v1/jobs/{id}/links", tags=["jobs"])

Days = Annotated[
    float | None,
    Query(gt=0, le=MAX_AGE_DAYS, description="the link ends after them", examples=[30]),
]
LinkId = Annotated[
    int, Path(alias="link", ge=1, le=MAX_ID, description="the link's number", examples=[3])
]


@of_links.post("", status_code=201, responses=documented(404, 409, 422))
def make_link(job_id: Id, services: Wired, days: Days = None) -> NewLink:
    """A link that shows this job and nothing else. Its address is in this answer alone."""
    return new_link(services, job_id, days)


@of_links.get("", responses=documented(404, 422))
def list_links(job_id: Id, services: Wired) -> LinkList:
    """The links of a job that have not been revoked."""
    services.store.pool_of(JobId(job_id))
    return LinkList(links=services.store.links(JobId(job_id)))


@of_links.delete("/{link}", status_code=204, responses=documented(404, 422))
def revoke_link(job_id: Id, link: LinkId, services: Wired) -> None:
    """Revoke a link: its address then leads nowhere."""
    services.store.unshare(services.changed(job_id), link, by=services.by)


def new_link(services: Services, job_id: int, days: float | None) -> NewLink:
    """A link that lasts so many days, or until it is revoked."""
    token = secrets.token_urlsafe(32)
    expires_at = None if days is None else services.now() + timedelta(days=days)
    link = services.store.share(services.changed(job_id), token, expires_at, by=services.by)
    return NewLink.of(link, path=f"{SHARED}{token}")
