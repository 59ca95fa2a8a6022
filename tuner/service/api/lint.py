"""Lint a uwsgi.ini: its findings, and the corrected file."""

from typing import Any

from fastapi import APIRouter, Response
from pydantic import ValidationError

from tuner.nouns.errors import Conflict, InvalidInput, Mistake
from tuner.nouns.model import Job, JobId, wants_kept
from tuner.nouns.schemas import LintAnswer, LintRequest
from tuner.service.api import examples
from tuner.service.api.linting import linted
from tuner.service.api.parameters import Body
from tuner.service.api.problems import documented
from tuner.service.api.services import Services, Wired
from tuner.service.api.shape import mistakes_of_shape
from tuner.uwsgi.lint import Box

router = APIRouter(prefix="/v1", tags=["lint"])


@router.post(
    "/lint",
    response_model=LintAnswer,
    openapi_extra=examples.body("LintRequest"),
    responses=documented(404, 409, 413, 415, 422),
)
def lint_ini(document: Body, services: Wired) -> Response:
    """Findings in a uwsgi.ini, each with its line and its fix. Nothing is stored or run."""
    request = _read(document)
    job = _job(services, request.job) if request.job is not None else None
    facts = job.facts if job else None
    build = (facts.uwsgi_version, facts.options) if facts else None
    answer = linted(request.ini, _box(request, job), build, fix=request.fix)
    return Response(answer, media_type="application/json")


def _read(document: Any) -> LintRequest:
    try:
        request = LintRequest.model_validate(document)
    except ValidationError as error:
        raise InvalidInput(mistakes_of_shape(document, error)) from None
    try:
        request.ini.encode()
    except UnicodeEncodeError:
        raise InvalidInput([Mistake("ini", "text may not hold half of a surrogate pair")]) from None
    return request


def _job(services: Services, number: int) -> Job:
    job = services.store.job(JobId(number))
    if job.facts is None:
        raise Conflict(f"job {number} has not seen its image yet: its options are not known")
    return job


def _box(request: LintRequest, job: Job | None) -> Box:
    limits = request.limits or (job.spec.limits if job else None)
    memory = request.memory_per_process_mb
    if memory is None and job is not None and job.facts is not None:
        memory = job.facts.memory.per_process_mb
    return Box(
        cpus=limits.cpus if limits else None,
        memory_mb=limits.memory_mb if limits else None,
        somaxconn=limits.somaxconn if limits else None,
        nofile=limits.nofile if limits else None,
        memory_per_process_mb=memory,
        command=job.spec.target.command if job else (),
        clients_keep=request.clients_keep or (job is not None and wants_kept(job.spec.workload)),
    )
