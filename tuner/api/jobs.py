"""Submit tuning jobs, look at them, call them off; their trials and the incumbent."""

from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from tuner.api import examples, views
from tuner.api.conditional import conditional_json
from tuner.api.kinds import job_of_kind, polled
from tuner.api.parameters import After, Body, Id, IfNoneMatch, InState, Key, Limit, Number, OfApp
from tuner.api.problems import documented
from tuner.api.progress import incumbent_of
from tuner.api.reading import read_request, sha256_of
from tuner.api.services import Services, Wired
from tuner.errors import NotFound
from tuner.model import Job, JobId, JobKind, JobRequest, TrialNumber
from tuner.schemas import Incumbent, JobAnswer, JobPage, TrialAnswer, TrialList

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.post(
    "",
    status_code=201,
    response_model=JobAnswer,
    openapi_extra=examples.JOB_BODY,
    responses={
        **examples.created(examples.JOB_QUEUED),
        **examples.ok(examples.JOB_QUEUED, "this key has already made this job", JobAnswer),
        **documented(409, 413, 415, 422),
    },
)
def submit(
    document: Body,
    response: Response,
    services: Wired,
    idempotency_key: Key = None,
) -> JobAnswer:
    """Have an app tuned. Everything but `app` and `target` has a default."""
    spec = read_request(document, JobRequest, services.resolve)
    job, is_new = services.store.create_job(
        spec, idempotency_key=idempotency_key, request_sha256=sha256_of(document)
    )
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return _answer(services, job)


@router.get("", responses={**examples.ok(examples.JOB_PAGE), **documented(422)})
def list_jobs(
    services: Wired,
    app: OfApp = None,
    state: InState = None,
    after: After = None,
    limit: Limit = 50,
) -> JobPage:
    """Tuning jobs, newest first."""
    cursor = JobId(after) if after is not None else None
    found = services.store.jobs(app, state, cursor, limit, kind=JobKind.TUNE)
    return views.job_page(found, limit)


@router.get(
    "/{id}",
    response_model=JobAnswer,
    responses={
        **examples.ok(examples.JOB_RUNNING),
        **examples.NOT_MODIFIED,
        **documented(404, 422),
    },
)
def show_job(
    job_id: Id, request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """State, phase, progress, time left and the incumbent; cheap to poll with its ETag."""
    answer = partial(_answer, services)
    return polled(request, services.store, JobId(job_id), JobKind.TUNE, answer)


@router.post(
    "/{id}/cancel",
    responses={**examples.ok(examples.JOB_CANCELLED), **documented(404, 409, 422)},
)
def cancel_job(job_id: Id, services: Wired) -> JobAnswer:
    """Call a job off: its running measurement stops within 2 s, and nothing is left running."""
    job = job_of_kind(services.store, JobId(job_id), JobKind.TUNE)
    return _answer(services, services.store.cancel(job.id))


@router.get(
    "/{id}/trials",
    responses={**examples.ok(examples.TRIAL_LIST), **documented(404, 422)},
)
def list_trials(job_id: Id, services: Wired) -> TrialList:
    """All trials of a job."""
    job = job_of_kind(services.store, JobId(job_id), JobKind.TUNE)
    trials = services.store.trials(job.id)
    measurements = services.store.measurements(job.id, detailed=False)
    return TrialList(trials=[views.trial_answer(trial, measurements) for trial in trials])


@router.get(
    "/{id}/trials/{n}", responses={**examples.ok(examples.TRIAL_RAW), **documented(404, 422)}
)
def show_trial(
    job_id: Id,
    trial_number: Number,
    services: Wired,
    raw: Annotated[
        bool, Query(description="with all windows, the raw data", examples=[True])
    ] = False,
) -> TrialAnswer:
    """One trial."""
    job = job_of_kind(services.store, JobId(job_id), JobKind.TUNE)
    trial = services.store.trial(job.id, TrialNumber(trial_number))
    history = services.store.history(job.id)
    if raw:
        history = replace(history, measurements=tuple(services.store.measurements(job.id)))
    return views.whole_trial_answer(trial, history, raw=raw)


@router.get(
    "/{id}/best",
    response_model=Incumbent,
    responses={**examples.ok(examples.INCUMBENT), **examples.NOT_MODIFIED, **documented(404, 422)},
)
def show_best(
    job_id: Id, request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """The incumbent now; 404 before the first trial has a score."""
    job = job_of_kind(services.store, JobId(job_id), JobKind.TUNE)
    best = incumbent_of(services.store.trials(job.id))
    if best is None:
        raise NotFound(f"job {job_id} has no feasible trial with a score yet")
    return conditional_json(request, best)


def _answer(services: Services, job: Job) -> JobAnswer:
    store = services.store
    measurements = store.measurements(job.id, detailed=False)
    return views.job_answer(job, store.trials(job.id), measurements, store.queue_position(job.id))
