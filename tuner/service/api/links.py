"""Read-only links to one job, for somebody without the key: make, list, revoke."""

import secrets
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query

from tuner.nouns.model import JobId
from tuner.nouns.schemas import LinkList, NewLink
from tuner.service.api.parameters import MAX_AGE_DAYS, MAX_ID, Id
from tuner.service.api.problems import documented
from tuner.service.api.security import SHARED
from tuner.service.api.services import Services, Wired

router = APIRouter(prefix="/v1/jobs/{id}/links", tags=["jobs"])

Days = Annotated[
    float | None,
    Query(gt=0, le=MAX_AGE_DAYS, description="the link ends after them", examples=[30]),
]
LinkId = Annotated[
    int, Path(alias="link", ge=1, le=MAX_ID, description="the link's number", examples=[3])
]


@router.post("", status_code=201, responses=documented(404, 409, 422))
def make_link(job_id: Id, services: Wired, days: Days = None) -> NewLink:
    """A link that shows this job and nothing else. Its address is in this answer alone."""
    return new_link(services, job_id, days)


@router.get("", responses=documented(404, 422))
def list_links(job_id: Id, services: Wired) -> LinkList:
    """The links of a job that have not been revoked."""
    services.store.pool_of(JobId(job_id))
    return LinkList(links=services.store.links(JobId(job_id)))


@router.delete("/{link}", status_code=204, responses=documented(404, 422))
def revoke_link(job_id: Id, link: LinkId, services: Wired) -> None:
    """Revoke a link: its address then leads nowhere."""
    services.store.unshare(services.changed(job_id), link, by=services.by)


def new_link(services: Services, job_id: int, days: float | None) -> NewLink:
    """A link that lasts so many days, or until it is revoked."""
    token = secrets.token_urlsafe(32)
    expires_at = None if days is None else services.now() + timedelta(days=days)
    link = services.store.share(services.changed(job_id), token, expires_at, by=services.by)
    return NewLink.of(link, path=f"{SHARED}{token}")
