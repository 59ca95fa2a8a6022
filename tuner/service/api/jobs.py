"""Jobs of all kinds: submit, list, look at, finish, cancel, delete; raw data; links to one job."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import Asked, JobId, JobKind, JobSpec, JobStatus, Priority
from tuner.nouns.schemas import JobAnswer, JobPage, LinkList, NewLink, WindowList
from tuner.service.api import reference, views
from tuner.service.api.parameters import (
    MAX_AGE_DAYS,
    MAX_ID,
    After,
    Id,
    IfNoneMatch,
    InState,
    Key,
    Limit,
    OfApp,
    tagged,
    unchanged,
    understood,
)
from tuner.service.api.problems import documented
from tuner.service.api.reading import read_request, sha256_of
from tuner.service.api.security import SHARED
from tuner.service.api.services import Services, Wired
from tuner.service.api.sizes import require_allowed_time

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


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks for, and the digest of its text."""

    spec: JobSpec
    sha256: str


def wanted(services: Services, document: Any) -> Wanted:
    """The job that a document asks for. Raises `InvalidInput`."""
    spec = read_request(document, services.resolve)
    return Wanted(spec, sha256_of({**document, "kind": spec.kind}))


async def _wanted(request: Request, services: Wired) -> Wanted:
    return await understood(request, partial(wanted, services))


@router.post(
    "",
    status_code=201,
    response_model=JobAnswer,
    openapi_extra=reference.body("TuneRequest", "CompareRequest", "CalibrateRequest"),
    responses={**reference.created(JobAnswer), **documented(409, 413, 415, 422, 429)},
)
def submit(
    asked: Annotated[Wanted, Depends(_wanted)],
    response: Response,
    services: Wired,
    idempotency_key: Key = None,
    go_on: GoOn = False,
    max_age_days: WithinDays = None,
) -> JobAnswer:
    """Tune an app, compare files, or calibrate a host: `kind` says which. Default: tune."""
    status, is_new = submitted(
        services, asked, idempotency_key=idempotency_key, go_on=go_on, max_age_days=max_age_days
    )
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = f"/v1/jobs/{status.job.id}"
    return views.job_answer(status)


def submitted(
    services: Services,
    asked: Wanted,
    *,
    idempotency_key: str | None = None,
    go_on: bool = False,
    max_age_days: float | None = None,
) -> tuple[JobStatus, bool]:
    """The job that is wanted, and whether it is new.

    Raises `InvalidInput`, `Forbidden` or `LimitReached`.
    """
    spec = asked.spec
    # The files, secrets and services of a target app go into a trial, whatever the job is called.
    targets = (target.target_app for target in (spec.target, *spec.others.values()))
    for app in (spec.app, *filter(None, targets)):
        services.require_theirs(app)
    require_allowed_time(spec, services.job_minutes)
    age = timedelta(days=max_age_days) if max_age_days is not None else None
    return services.store.create_job(
        spec,
        Asked(
            sha256=asked_sha256(spec),
            go_on=go_on,
            answered_since=services.now() - age if age else None,
        ),
        idempotency_key=idempotency_key,
        request_sha256=asked.sha256,
        by=services.by,
        by_key=services.caller.key_name,
        most_waiting=services.jobs_waiting,
    )


def asked_sha256(spec: JobSpec) -> str:
    """A digest of what is asked for, with the texts of all files.

    Without what came from elsewhere: answers of earlier jobs, the file that is in the image. Also
    without the priority: it decides when a job starts, not what it finds.
    """
    by_itself = {"because": (), "follows": None}  # of a schedule
    update = {"seeds": (), "priority": Priority.INTERACTIVE, **by_itself}
    return sha256(spec.model_copy(update=update).model_dump_json().encode()).hexdigest()


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


@router.post("/{id}/finish", responses=documented(404, 409, 422))
def finish_job(job_id: Id, services: Wired) -> JobAnswer:
    """Have a tuning job confirm its best candidate so far, and end.

    A confirmation ends at its next look. 409 while there is nothing to confirm.
    """
    return views.job_answer(services.store.finish_now(services.changed(job_id), by=services.by))


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

DAYS_OF_A_LINK = 30.0
Days = Annotated[
    float | None,
    Query(gt=0, le=MAX_AGE_DAYS, description="the link ends after them [30]", examples=[30]),
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
    """A link that lasts so many days. Raises `InvalidInput` for more than the operator allows."""
    if days is not None and days > services.link_days:
        allowed = f"this service allows {services.link_days:g} days (TUNER_LINK_DAYS)"
        raise InvalidInput.at("days", f"{days:g} is too long: {allowed}")
    token = secrets.token_urlsafe(32)
    lasts = days or min(DAYS_OF_A_LINK, services.link_days)
    expires_at = services.now() + timedelta(days=lasts)
    link = services.store.share(services.changed(job_id), token, expires_at, by=services.by)
    return NewLink.of(link, path=f"{SHARED}{token}")
