"""The verdict and the files to deploy, job by job."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from tuner.api import examples
from tuner.api.conditional import conditional, conditional_json
from tuner.api.files import (
    IniForm,
    SysctlForm,
    compose_of,
    ini_of,
    media_type_of,
    sysctls_of,
)
from tuner.api.kinds import job_of_kind
from tuner.api.parameters import Id, IfNoneMatch
from tuner.api.problems import documented
from tuner.api.services import Services, Wired
from tuner.api.views import recommendation_answer
from tuner.errors import Conflict
from tuner.model import Job, JobId, JobKind, JobState, Recommendation, Verdict
from tuner.schemas import RecommendationAnswer

router = APIRouter(prefix="/v1", tags=["recommendations"])

Form = Annotated[
    IniForm,
    Query(description="patched: the whole file; overlay: the changes", examples=["patched"]),
]
Require = Annotated[
    Literal["better"] | None,
    Query(description="409 unless a file was confirmed to be better", examples=["better"]),
]
SysctlsFor = Annotated[
    SysctlForm, Query(description="for whom it is written", examples=["kubernetes"])
]


@router.get(
    "/jobs/{id}/recommendation",
    response_model=RecommendationAnswer,
    responses={
        **examples.ok(examples.RECOMMENDATION),
        **examples.NOT_MODIFIED,
        **documented(404, 409, 422),
    },
)
def of_job(
    job_id: Id, request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """Verdict, effect with its interval, each line's share, the diagnosis and the file."""
    job, found = confirmed(services, job_id)
    return conditional_json(request, recommendation_answer(job, found))


@router.get(
    "/jobs/{id}/uwsgi.ini",
    response_class=Response,
    responses={
        **examples.text(examples.INI),
        **examples.NOT_MODIFIED,
        **documented(404, 409, 422),
    },
)
def ini_of_job(
    job_id: Id,
    request: Request,
    services: Wired,
    form: Form = "patched",
    require: Require = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The file to deploy: the user's own, unchanged, where nothing was found to be better."""
    job, found = confirmed(services, job_id)
    return _ini(request, job, found, form, require)


@router.get(
    "/jobs/{id}/compose.yaml",
    response_class=Response,
    responses={
        **examples.text(examples.COMPOSE, "application/yaml"),
        **examples.NOT_MODIFIED,
        **documented(404, 409, 422),
    },
)
def compose_of_job(
    job_id: Id, request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """The limits and sysctls under which the file was measured, as a compose file."""
    job, _ = confirmed(services, job_id)
    return conditional(request, compose_of(job), "application/yaml")


@router.get(
    "/jobs/{id}/sysctls",
    response_class=Response,
    responses={
        **examples.sysctls(),
        **examples.NOT_MODIFIED,
        **documented(404, 409, 422),
    },
)
def sysctls_of_job(
    job_id: Id,
    request: Request,
    services: Wired,
    form: SysctlsFor = "plain",
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The kernel settings that the file relies on, with the rest of its box beside them."""
    job, _ = confirmed(services, job_id)
    return conditional(request, sysctls_of(job, form), media_type_of(form))


def _ini(
    request: Request, job: Job, found: Recommendation, form: IniForm, require: str | None
) -> Response:
    if require == "better":
        check_is_better(found)
    headers = {"X-Tuner-Job": str(job.id), "X-Tuner-Verdict": found.verdict.value}
    return conditional(request, ini_of(found, form), "text/plain", headers)


def confirmed(services: Services, job_id: int) -> tuple[Job, Recommendation]:
    """A job and its answer. Raises `Conflict` with the reason where it has none (yet)."""
    job = job_of_kind(services.store, JobId(job_id), JobKind.TUNE)
    if job.recommendation is not None:
        return job, job.recommendation
    raise Conflict(f"job {job_id} {_why_unconfirmed(job)}")


def _why_unconfirmed(job: Job) -> str:
    if job.failure is not None:
        return f"failed: {job.failure.message}"
    if job.state is JobState.CANCELLED:
        return "was cancelled before anything was confirmed"
    if job.state is JobState.QUEUED:
        return "is still queued: there is no confirmed file yet"
    return f"is still in phase {job.phase}: there is no confirmed file yet"


def check_is_better(found: Recommendation) -> None:
    """Raise `Conflict` where nothing was confirmed to be better than the user's own file."""
    if found.verdict is not Verdict.BETTER:
        raise Conflict(f"the verdict is {found.verdict}: {found.reason}")
