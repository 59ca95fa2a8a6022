"""Calibrate the hosts of a pool, and see what each of them can tell apart."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from tuner.api import examples, measured
from tuner.api.kinds import job_of_kind, polled
from tuner.api.parameters import NAME, After, Body, Id, IfNoneMatch, InState, Key, Limit
from tuner.api.problems import documented
from tuner.api.reading import read_request, sha256_of
from tuner.api.services import Services, Wired
from tuner.errors import NotFound
from tuner.model import CalibrationRequest, Job, JobId, JobKind
from tuner.schemas import CalibrationJobAnswer, CalibrationPage, PoolHosts

router = APIRouter(prefix="/v1", tags=["calibrations"])


@router.post(
    "/calibrations",
    status_code=201,
    response_model=CalibrationJobAnswer,
    openapi_extra=examples.CALIBRATION_BODY,
    responses={
        **examples.created(examples.CALIBRATION_QUEUED),
        **examples.ok(
            examples.CALIBRATION_QUEUED, "this key has already made this one", CalibrationJobAnswer
        ),
        **documented(409, 413, 415, 422),
    },
)
def calibrate(
    document: Body, response: Response, services: Wired, idempotency_key: Key = None
) -> CalibrationJobAnswer:
    """Measure a file against itself, in blocks. Everything has a default."""
    spec = read_request(document, CalibrationRequest, services.resolve)
    job, is_new = services.store.create_job(
        spec,
        idempotency_key=idempotency_key,
        request_sha256=sha256_of({"calibration": document}),
    )
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = f"/v1/calibrations/{job.id}"
    return _answer(services, job)


@router.get(
    "/calibrations", responses={**examples.ok(examples.CALIBRATION_PAGE), **documented(422)}
)
def list_calibrations(
    services: Wired, state: InState = None, after: After = None, limit: Limit = 50
) -> CalibrationPage:
    """Calibrations, newest first."""
    cursor = JobId(after) if after is not None else None
    found = services.store.jobs(None, state, cursor, limit, kind=JobKind.CALIBRATE)
    return measured.calibration_page(found, limit)


@router.get(
    "/calibrations/{id}",
    response_model=CalibrationJobAnswer,
    responses={
        **examples.ok(examples.CALIBRATION_DONE),
        **examples.NOT_MODIFIED,
        **documented(404, 422),
    },
)
def show_calibration(
    job_id: Id, request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """State, progress and, once it is done, noise, bias and what the hosts can see."""
    answer = partial(_answer, services)
    return polled(request, services.store, JobId(job_id), JobKind.CALIBRATE, answer)


@router.post(
    "/calibrations/{id}/cancel",
    responses={**examples.ok(examples.CALIBRATION_CANCELLED), **documented(404, 409, 422)},
)
def cancel_calibration(job_id: Id, services: Wired) -> CalibrationJobAnswer:
    """Call a calibration off."""
    job = job_of_kind(services.store, JobId(job_id), JobKind.CALIBRATE)
    return _answer(services, services.store.cancel(job.id))


@router.get(
    "/pools/{pool}/hosts",
    responses={**examples.ok(examples.POOL_HOSTS), **documented(404, 422)},
)
def list_hosts(
    pool: Annotated[str, Path(pattern=NAME, description="the pool's name", examples=["default"])],
    services: Wired,
) -> PoolHosts:
    """The hosts of a pool with their last calibration: what each can see in 5, 20, 60 minutes."""
    hosts = services.store.hosts(pool)
    if not hosts:
        raise NotFound(f"no worker ever reported for a pool {pool!r}; GET /v1/pools lists them")
    return measured.pool_hosts(pool, hosts, services.now())


def _answer(services: Services, job: Job) -> CalibrationJobAnswer:
    store = services.store
    measurements = store.measurements(job.id, detailed=False)
    return measured.calibration_job_answer(job, measurements, store.queue_position(job.id))
