"""Jobs of all kinds count in one row; each kind has its own address."""

from collections.abc import Callable

from fastapi import Request, Response
from pydantic import BaseModel

from tuner.api.conditional import tagged, unchanged
from tuner.api.services import Store
from tuner.errors import NotFound
from tuner.model import Job, JobId, JobKind

_ADDRESS = {
    JobKind.TUNE: "/v1/jobs",
    JobKind.COMPARE: "/v1/measurements",
    JobKind.CALIBRATE: "/v1/calibrations",
}
_NOUN = {
    JobKind.TUNE: "a tuning job",
    JobKind.COMPARE: "a measurement",
    JobKind.CALIBRATE: "a calibration",
}


def address_of(job: Job) -> str:
    """Where a job is to be found."""
    return f"{_ADDRESS[job.spec.kind]}/{job.id}"


def job_of_kind(store: Store, job_id: JobId, kind: JobKind) -> Job:
    """The job. Raises `NotFound`, for one of another kind with the address that it has."""
    job = store.job(job_id)
    if job.spec.kind is not kind:
        raise NotFound(f"{job_id} is {_NOUN[job.spec.kind]}: see {address_of(job)}")
    return job


def polled(
    request: Request,
    store: Store,
    job_id: JobId,
    kind: JobKind,
    answer: Callable[[Job], BaseModel],
) -> Response:
    """The answer about a job of that kind, or 304 where the caller has it. Raises `NotFound`."""
    # Read before the job itself: an answer newer than its tag is fetched once more, never kept.
    tag = f'W/"{store.revision(job_id)}-{store.queue_position(job_id)}"'
    if unchanged(request, tag):
        return Response(status_code=304, headers={"ETag": tag})
    return tagged(answer(job_of_kind(store, job_id, kind)), tag)
