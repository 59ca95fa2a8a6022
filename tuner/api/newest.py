"""The newest answer for an app and its files, at addresses that stay: for CI.

Pipelines ask far more often than answers change. A tag is therefore made of the job's number and
revision, what is asked for and the program's version; who has it already costs one indexed look
at a few columns: the answer itself is neither read nor rendered.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.exceptions import HTTPException

from tuner.api import examples
from tuner.api.conditional import kept_by, unchanged
from tuner.api.files import compose_of, ini_of, media_type_of, sysctls_of
from tuner.api.parameters import NAME, IfNoneMatch
from tuner.api.problems import documented
from tuner.api.recommendations import Form, Require, SysctlsFor, check_is_better, confirmed
from tuner.api.services import Services, Wired
from tuner.api.views import recommendation_answer
from tuner.errors import NotFound
from tuner.model import AnswerInBrief, Job, Recommendation, Verdict
from tuner.schemas import RecommendationAnswer

MAX_AGE_DAYS = 36_500  # a century: what a timedelta can surely hold
_VERSION = version("uwsgi-tuner")

router = APIRouter(prefix="/v1/apps", tags=["recommendations"])

App = Annotated[
    str, Path(pattern=NAME, description="the app's name in its jobs", examples=["checkout"])
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
_PROBLEMS = {**examples.NOT_MODIFIED, **documented(404, 409, 410, 422)}


@router.get(
    "/{app}/recommendation",
    response_model=RecommendationAnswer,
    responses={**examples.ok(examples.RECOMMENDATION), **_PROBLEMS},
)
def recommendation(
    app: App,
    request: Request,
    services: Wired,
    max_age_days: MaxAge = None,
    require: Require = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The newest recommendation for an app."""

    def written(job: Job, found: Recommendation) -> str:
        return recommendation_answer(job, found).model_dump_json()

    newest = _newest(services, app, max_age_days, require)
    return _answer(request, services, newest, "application/json", written)


@router.get(
    "/{app}/uwsgi.ini",
    response_class=Response,
    responses={**examples.text(examples.INI), **_PROBLEMS},
)
def ini(
    app: App,
    request: Request,
    services: Wired,
    form: Form = "patched",
    max_age_days: MaxAge = None,
    require: Require = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The newest file to deploy for an app."""
    newest = _newest(services, app, max_age_days, require)
    return _answer(request, services, newest, "text/plain", lambda job, found: ini_of(found, form))


@router.get(
    "/{app}/compose.yaml",
    response_class=Response,
    responses={**examples.text(examples.COMPOSE, "application/yaml"), **_PROBLEMS},
)
def compose(
    app: App,
    request: Request,
    services: Wired,
    max_age_days: MaxAge = None,
    require: Require = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The box that the newest file relies on, as a compose file."""
    newest = _newest(services, app, max_age_days, require)
    return _answer(
        request, services, newest, "application/yaml", lambda job, found: compose_of(job)
    )


@router.get(
    "/{app}/sysctls",
    response_class=Response,
    responses={**examples.sysctls(), **_PROBLEMS},
)
def sysctls(
    app: App,
    request: Request,
    services: Wired,
    form: SysctlsFor = "plain",
    max_age_days: MaxAge = None,
    require: Require = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The kernel settings that the newest file relies on, with the rest of its box beside them."""
    newest = _newest(services, app, max_age_days, require)
    return _answer(
        request, services, newest, media_type_of(form), lambda job, found: sysctls_of(job, form)
    )


def _newest(
    services: Services, app: str, max_age_days: float | None, require: str | None
) -> AnswerInBrief:
    newest = services.store.latest_in_brief(app)
    if newest is None:
        raise NotFound(f"there is no recommendation for {app} yet")
    _check_age(services, app, newest, max_age_days)
    if require == "better" and newest.verdict is not Verdict.BETTER:
        check_is_better(confirmed(services, newest.job)[1])
    return newest


def _check_age(
    services: Services, app: str, newest: AnswerInBrief, max_age_days: float | None
) -> None:
    age = services.now() - newest.finished_at
    if max_age_days is not None and age > timedelta(days=max_age_days):
        raise HTTPException(
            410,
            f"the newest recommendation for {app} (job {newest.job}) is {age.days} days old, "
            f"more than the {max_age_days:g} asked for",
        )


def _answer(
    request: Request,
    services: Services,
    newest: AnswerInBrief,
    media_type: str,
    written: Callable[[Job, Recommendation], str],
) -> Response:
    """What `written` makes of the answer, or 304 where the caller has it already."""
    tag = _tag(request, newest)
    headers = {
        **kept_by(tag),
        "X-Tuner-Job": str(newest.job),
        "X-Tuner-Verdict": newest.verdict.value,
    }
    if unchanged(request, tag):
        return Response(status_code=304, headers=headers)
    body = written(*confirmed(services, newest.job))
    return Response(body, headers=headers, media_type=media_type)


def _tag(request: Request, newest: AnswerInBrief) -> str:
    """A strong one: an answer never changes, nor does how one version renders it."""
    form = request.query_params.get("form", "")
    asked = f"{_VERSION} {newest.job} {newest.revision} {request.url.path} {form}"
    return f'"{newest.job}-{hashlib.sha256(asked.encode()).hexdigest()[:24]}"'
