"""Measure one file, or compare several: an honest benchmark, without tuning."""

from functools import partial

from fastapi import APIRouter, Request, Response

from tuner.api import examples, measured
from tuner.api.kinds import job_of_kind, polled
from tuner.api.parameters import After, Body, Id, IfNoneMatch, InState, Key, Limit, OfApp
from tuner.api.problems import documented
from tuner.api.reading import read_request, sha256_of
from tuner.api.services import Services, Wired
from tuner.model import Job, JobId, JobKind, MeasurementRequest
from tuner.schemas import MeasurementAnswer, MeasurementPage, WindowList

router = APIRouter(prefix="/v1/measurements", tags=["measurements"])


@router.post(
    "",
    status_code=201,
    response_model=MeasurementAnswer,
    openapi_extra=examples.MEASUREMENT_BODY,
    responses={
        **examples.created(examples.MEASUREMENT_QUEUED),
        **examples.ok(
            examples.MEASUREMENT_QUEUED, "this key has already made this one", MeasurementAnswer
        ),
        **documented(409, 413, 415, 422),
    },
)
def measure(
    document: Body, response: Response, services: Wired, idempotency_key: Key = None
) -> MeasurementAnswer:
    """Have files measured in interleaved blocks. Everything but `target` has a default."""
    spec = read_request(document, MeasurementRequest, services.resolve)
    job, is_new = services.store.create_job(
        spec,
        idempotency_key=idempotency_key,
        request_sha256=sha256_of({"measurement": document}),
    )
    response.status_code = 201 if is_new else 200
    response.headers["Location"] = f"/v1/measurements/{job.id}"
    return _answer(services, job)


@router.get("", responses={**examples.ok(examples.MEASUREMENT_PAGE), **documented(422)})
def list_measurements(
    services: Wired,
    app: OfApp = None,
    state: InState = None,
    after: After = None,
    limit: Limit = 50,
) -> MeasurementPage:
    """Measurements, newest first."""
    cursor = JobId(after) if after is not None else None
    found = services.store.jobs(app, state, cursor, limit, kind=JobKind.COMPARE)
    return measured.measurement_page(found, limit)


@router.get(
    "/{id}",
    response_model=MeasurementAnswer,
    responses={
        **examples.ok(examples.MEASUREMENT_DONE),
        **examples.NOT_MODIFIED,
        **documented(404, 422),
    },
)
def show_measurement(
    job_id: Id, request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """State, progress and, once it is done, the report; cheap to poll with its ETag."""
    answer = partial(_answer, services)
    return polled(request, services.store, JobId(job_id), JobKind.COMPARE, answer)


@router.post(
    "/{id}/cancel",
    responses={**examples.ok(examples.MEASUREMENT_CANCELLED), **documented(404, 409, 422)},
)
def cancel_measurement(job_id: Id, services: Wired) -> MeasurementAnswer:
    """Call a measurement off: what runs stops within 2 s, and nothing is left running."""
    job = job_of_kind(services.store, JobId(job_id), JobKind.COMPARE)
    return _answer(services, services.store.cancel(job.id))


@router.get(
    "/{id}/windows",
    response_model=WindowList,
    responses={**examples.ok(examples.WINDOW_LIST), **documented(404, 422)},
)
def list_windows(job_id: Id, services: Wired) -> Response:
    """Every window as it was measured, void ones included: the raw data of the report."""
    job = job_of_kind(services.store, JobId(job_id), JobKind.COMPARE)
    found = measured.window_list(job, services.store.measurements(job.id))
    return Response(found.model_dump_json(), media_type="application/json")


def _answer(services: Services, job: Job) -> MeasurementAnswer:
    store = services.store
    measurements = store.measurements(job.id, detailed=False)
    return measured.measurement_answer(job, measurements, store.queue_position(job.id))
