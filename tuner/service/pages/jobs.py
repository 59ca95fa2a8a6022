"""Jobs: what runs, what waits, and all that was ever asked for; cancel."""

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from tuner.nouns.masking import masked
from tuner.nouns.model import JobId, JobKind, JobState
from tuner.service.api.jobs import OfKind
from tuner.service.api.parameters import After, Id, InState, Limit, OfApp
from tuner.service.api.services import Wired
from tuner.service.api.views import job_page
from tuner.service.pages.answering import base_of, page
from tuner.service.pages.forms import Form
from tuner.service.pages.queueing import open_jobs

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
