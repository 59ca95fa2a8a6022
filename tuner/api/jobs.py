"""Submit jobs, look at them, call them off; their trials and the incumbent."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from starlette.exceptions import HTTPException

from tuner.api import examples, views
from tuner.api.conditional import conditional_json, tagged, unchanged
from tuner.api.problems import documented
from tuner.api.progress import incumbent_of
from tuner.api.reading import parse, read_job, sha256_of
from tuner.api.schemas import Incumbent, JobAnswer, JobPage, TrialAnswer, TrialList
from tuner.api.services import Services, Wired
from tuner.errors import NotFound
from tuner.model import Job, JobId, JobState, TrialNumber

MAX_BODY_BYTES = 1_000_000
MAX_ID = 2**63 - 1  # PostgreSQL's bigint
MAX_NUMBER = 2**31 - 1  # PostgreSQL's integer
NAME = r"^[a-z0-9][a-z0-9._-]{0,62}$"

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

Id = Annotated[int, Path(alias="id", ge=1, le=MAX_ID, description="the job's number", examples=[7])]
Number = Annotated[
    int, Path(alias="n", ge=0, le=MAX_NUMBER, description="the trial's number", examples=[3])
]
IfNoneMatch = Annotated[
    str | None,
    Header(
        alias="If-None-Match",
        description="the ETag of an earlier answer",
        examples=['"0123456789abcdef"'],
    ),
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,200}$",
        description="sent twice with the same request, it makes one job",
        examples=["checkout-release-1.4"],
    ),
]


async def _document(request: Request) -> Any:
    """The JSON body. A browser cannot send this content type to us from another site's page."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415)
    return parse(await _body(request))


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413)
    return bytes(body)


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
    document: Annotated[Any, Depends(_document)],
    response: Response,
    services: Wired,
    idempotency_key: Key = None,
) -> JobAnswer:
    """Have an app tuned. Everything but `app` and `target` has a default."""
    spec = read_job(document, services.resolve)
    job, is_new = services.store.create_job(
        spec, idempotency_key=idempotency_key, request_sha256=sha256_of(document)
    )
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return _answer(services, job)


@router.get("", responses={**examples.ok(examples.JOB_PAGE), **documented(422)})
def list_jobs(
    services: Wired,
    app: Annotated[
        str | None, Query(pattern=NAME, description="of this app", examples=["checkout"])
    ] = None,
    state: Annotated[
        JobState | None, Query(description="in this state", examples=["running"])
    ] = None,
    after: Annotated[
        int | None, Query(ge=1, le=MAX_ID, description="`next` of the page before", examples=[7])
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="at most so many", examples=[50])] = 50,
) -> JobPage:
    """Jobs, newest first."""
    cursor = JobId(after) if after is not None else None
    return views.job_page(services.store.jobs(app, state, cursor, limit), limit)


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
    number, store = JobId(job_id), services.store
    # Read before the job itself: an answer newer than its tag is fetched once more, never kept.
    tag = f'W/"{store.revision(number)}-{store.queue_position(number)}"'
    if unchanged(request, tag):
        return Response(status_code=304, headers={"ETag": tag})
    return tagged(_answer(services, store.job(number)), tag)


@router.post(
    "/{id}/cancel",
    responses={**examples.ok(examples.JOB_CANCELLED), **documented(404, 409, 422)},
)
def cancel_job(job_id: Id, services: Wired) -> JobAnswer:
    """Call a job off: its running measurement stops within 2 s, and nothing is left running."""
    return _answer(services, services.store.cancel(JobId(job_id)))


@router.get(
    "/{id}/trials",
    responses={**examples.ok(examples.TRIAL_LIST), **documented(404, 422)},
)
def list_trials(job_id: Id, services: Wired) -> TrialList:
    """All trials of a job."""
    number = JobId(job_id)
    trials = services.store.trials(number)
    measurements = services.store.measurements(number)
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
    number = JobId(job_id)
    trial = services.store.trial(number, TrialNumber(trial_number))
    return views.trial_answer(trial, services.store.measurements(number), raw=raw)


@router.get(
    "/{id}/best",
    response_model=Incumbent,
    responses={**examples.ok(examples.INCUMBENT), **examples.NOT_MODIFIED, **documented(404, 422)},
)
def show_best(
    job_id: Id, request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """The incumbent now; 404 before the first trial has a score."""
    best = incumbent_of(services.store.trials(JobId(job_id)))
    if best is None:
        raise NotFound(f"job {job_id} has no feasible trial with a score yet")
    return conditional_json(request, best)


def _answer(services: Services, job: Job) -> JobAnswer:
    store = services.store
    return views.job_answer(
        job, store.trials(job.id), store.measurements(job.id), store.queue_position(job.id)
    )
