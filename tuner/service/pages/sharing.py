"""One job for somebody without the key: make and revoke links, and what a link shows."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import JobId
from tuner.service.api.jobs import LinkId, new_link
from tuner.service.api.parameters import Id
from tuner.service.api.security import SHARED
from tuner.service.api.services import Wired
from tuner.service.pages.answering import base_of, packed, rendered, seen_at
from tuner.service.pages.jobs import Name, Page, csv_shown, link_days, shown, table_shown
from tuner.service.pages.signing_in import Form

router = APIRouter()


@router.post("/jobs/{id}/links")
def share(job_id: Id, request: Request, form: Form, services: Wired) -> Response:
    """Make a link, and show its address: now or never, because only its hash is kept."""
    days = form.get("days", "")
    offered = [str(number) for number in link_days(services)]
    if days not in ("", *offered):
        raise InvalidInput.at("days", f"give one of {', '.join(offered)}, or nothing")
    link = new_link(services, job_id, float(days) if days else None)
    address = f"{seen_at(request)}{base_of(request)}{link.path}"
    text = rendered(request, "link.html.j2", link=link, address=address)
    return packed(request, text, "text/html", {"Cache-Control": "no-store"}, 201)


@router.post("/jobs/{id}/links/{link}/revoke")
def revoke(job_id: Id, link: LinkId, request: Request, form: Form, services: Wired) -> Response:
    """Revoke a link, and show the others."""
    services.store.unshare(services.changed(job_id), link, by=services.by)
    return RedirectResponse(f"{base_of(request)}/jobs/{job_id}#links", status_code=303)


def _shared_job(token: str, services: Wired) -> JobId:
    return services.store.shared_job(token)


Shared = Annotated[JobId, Depends(_shared_job)]
"""The one job that the secret in the address opens."""


@router.get(SHARED + "{token}")
def job(token: str, job_id: Shared, request: Request, services: Wired) -> Response:
    """The page of the job, without what changes it or leads to others."""
    return shown(request, services, job_id, "job.html.j2", own=f"{SHARED}{token}")


@router.get(SHARED + "{token}/parts")
def parts(token: str, job_id: Shared, request: Request, services: Wired) -> Response:
    """What changes while the job runs."""
    return shown(request, services, job_id, "job_parts.html.j2", own=f"{SHARED}{token}")


@router.get(SHARED + "{token}/tables/{name}.csv")
def table_as_csv(job_id: Shared, name: Name, request: Request, services: Wired) -> Response:
    """The figures of a section as CSV."""
    return csv_shown(request, services, job_id, name)


@router.get(SHARED + "{token}/tables/{name}")
def table(
    token: str, job_id: Shared, name: Name, request: Request, services: Wired, number: Page = 1
) -> Response:
    """The tables of a section, page by page."""
    return table_shown(request, services, job_id, name, number, own=f"{SHARED}{token}")
