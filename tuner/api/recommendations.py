"""The verdict and the files to deploy, by job (for people) and by app (for CI)."""

from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.exceptions import HTTPException

from tuner.api import examples
from tuner.api.conditional import conditional, conditional_json
from tuner.api.files import IniForm, SysctlForm, compose_of, ini_of, sysctls_of
from tuner.api.kinds import job_of_kind
from tuner.api.parameters import NAME, Id, IfNoneMatch
from tuner.api.problems import documented
from tuner.api.services import Services, Wired
from tuner.api.views import recommendation_answer
from tuner.errors import Conflict, NotFound
from tuner.model import Job, JobId, JobKind, JobState, Recommendation, Verdict
from tuner.schemas import RecommendationAnswer

MAX_AGE_DAYS = 36_500  # a century: what a timedelta can surely hold

router = APIRouter(prefix="/v1", tags=["recommendations"])

Form = Annotated[
    IniForm,
    Query(description="patched: the whole file; overlay: the changes", examples=["patched"]),
]
App = Annotated[
    str, Path(pattern=NAME, description="the app's name in its jobs", examples=["checkout"])
]
Require = Annotated[
    Literal["better"] | None,
    Query(description="409 unless a file was confirmed to be better", examples=["better"]),
]
MaxAge = Annotated[
    float | None,
    Query(
        gt=0,
        le=MAX_AGE_DAYS,
        alias="max_age_days",
        description="410 where the newest is older",
        examples=[30],
    ),
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
        **examples.text(examples.SYSCTLS),
        **examples.NOT_MODIFIED,
        **documented(404, 409, 422),
    },
)
def sysctls_of_job(
    job_id: Id,
    request: Request,
    services: Wired,
    form: Annotated[
        SysctlForm, Query(description="for whom it is written", examples=["kubernetes"])
    ] = "plain",
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The kernel settings that the file relies on."""
    job, _ = confirmed(services, job_id)
    kind = "text/plain" if form == "plain" else "application/yaml"
    return conditional(request, sysctls_of(job.spec, form), kind)


@router.get(
    "/apps/{app}/recommendation",
    response_model=RecommendationAnswer,
    responses={
        **examples.ok(examples.RECOMMENDATION),
        **examples.NOT_MODIFIED,
        **documented(404, 409, 410, 422),
    },
)
def of_app(
    app: App,
    request: Request,
    services: Wired,
    max_age_days: MaxAge = None,
    require: Require = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The newest recommendation for an app."""
    job, found = _newest(services, app, max_age_days)
    _check_required(found, require)
    return conditional_json(request, recommendation_answer(job, found))


@router.get(
    "/apps/{app}/uwsgi.ini",
    response_class=Response,
    responses={
        **examples.text(examples.INI),
        **examples.NOT_MODIFIED,
        **documented(404, 409, 410, 422),
    },
)
def ini_of_app(
    app: App,
    request: Request,
    services: Wired,
    form: Form = "patched",
    max_age_days: MaxAge = None,
    require: Require = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The newest file to deploy for an app."""
    job, found = _newest(services, app, max_age_days)
    return _ini(request, job, found, form, require)


def _ini(
    request: Request, job: Job, found: Recommendation, form: IniForm, require: str | None
) -> Response:
    _check_required(found, require)
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


def _newest(services: Services, app: str, max_age_days: float | None) -> tuple[Job, Recommendation]:
    job = services.store.latest_recommendation(app)
    if job is None or job.recommendation is None:
        raise NotFound(f"there is no recommendation for {app} yet")
    _check_age(services, job, max_age_days)
    return job, job.recommendation


def _check_age(services: Services, job: Job, max_age_days: float | None) -> None:
    if max_age_days is None or job.finished_at is None:
        return
    age = services.now() - job.finished_at
    if age > timedelta(days=max_age_days):
        raise HTTPException(
            410,
            f"the newest recommendation for {job.spec.app} (job {job.id}) is {age.days} days old, "
            f"more than the {max_age_days:g} asked for",
        )


def _check_required(found: Recommendation, require: str | None) -> None:
    if require == "better" and found.verdict is not Verdict.BETTER:
        raise Conflict(f"the verdict is {found.verdict}: {found.reason}")
