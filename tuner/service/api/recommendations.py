"""The verdict and the files to deploy, of a job and of an app's newest job.

Both addresses have the same calls. Pipelines ask far more often than answers change, so a tag is
made of the job's number and revision, the form and the program's version. A 304 costs one indexed
look at a few columns and the doubts: the API neither loads nor renders the answer.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from tuner.nouns.errors import Conflict, NotFound, Stale
from tuner.nouns.model import NAME, AnswerInBrief, Job, JobId, JobState, Recommendation, Verdict
from tuner.nouns.schemas import IniForm, RecommendationAnswer, SysctlForm
from tuner.service.api import examples
from tuner.service.api.conditional import kept_by, unchanged
from tuner.service.api.files import compose_of, ini_of, media_type_of, sysctls_of
from tuner.service.api.parameters import MAX_AGE_DAYS, Id, IfNoneMatch
from tuner.service.api.problems import documented
from tuner.service.api.services import Services, Wired
from tuner.service.api.views import recommendation_answer

_VERSION = version("uwsgi-tuner")
_PROBLEMS = {**examples.NOT_MODIFIED, **documented(404, 409, 410, 422)}

calls = APIRouter(tags=["recommendations"])

Form = Annotated[
    IniForm,
    Query(
        description="patched: the whole file; overlay: only the changes; command: the whole file as"
        " a command line, 409 if it has blocks",
        examples=["patched"],
    ),
]
SysctlsFor = Annotated[SysctlForm, Query(description="format of the text", examples=["kubernetes"])]
Require = Annotated[
    Literal["better"] | None,
    Query(
        description="409 unless the verdict is better, and true for production",
        examples=["better"],
    ),
]
App = Annotated[
    str, Path(pattern=NAME, description="the app's name in its jobs", examples=["checkout"])
]
MaxAge = Annotated[
    float | None,
    Query(gt=0, le=MAX_AGE_DAYS, description="410 if the answer is older", examples=[30]),
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What every call may ask of the answer."""

    max_age_days: MaxAge = None
    require: Require = None


async def _wanted(max_age_days: MaxAge = None, require: Require = None) -> Wanted:
    return Wanted(max_age_days, require)


WantedOfIt = Annotated[Wanted, Depends(_wanted)]


@calls.get("/recommendation", response_model=RecommendationAnswer, responses=_PROBLEMS)
def recommendation(
    request: Request, services: Wired, if_none_match: IfNoneMatch = None
) -> Response:
    """Verdict, effect with its interval, changed lines, bottleneck, evidence and the file."""
    return _answer(
        request,
        services,
        "application/json",
        lambda job, found: recommendation_answer(job, found).model_dump_json(),
    )


@calls.get("/uwsgi.ini", response_class=Response, responses={**examples.text("ini"), **_PROBLEMS})
def ini(
    request: Request,
    services: Wired,
    form: Form = "patched",
    if_none_match: IfNoneMatch = None,
) -> Response:
    """The file to deploy. It is the user's own, unchanged, unless the verdict is better."""
    return _answer(request, services, "text/plain", lambda job, found: ini_of(found, form))


@calls.get(
    "/compose.yaml",
    response_class=Response,
    responses={**examples.text("compose", "application/yaml"), **_PROBLEMS},
)
def compose(request: Request, services: Wired, if_none_match: IfNoneMatch = None) -> Response:
    """Limits and sysctls under which the file was measured, as a compose file."""
    return _answer(request, services, "application/yaml", compose_of)


@calls.get(
    "/sysctls",
    response_class=Response,
    responses={
        **examples.texts(sysctls="text/plain", sysctls_yaml="application/yaml"),
        **_PROBLEMS,
    },
)
def sysctls(
    request: Request,
    services: Wired,
    form: SysctlsFor = "plain",
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Kernel settings that the file relies on, and the other limits of its container."""
    return _answer(
        request, services, media_type_of(form), lambda job, found: sysctls_of(job, found, form)
    )


# The dependencies are async and only say how to find the answer: the call itself finds it. FastAPI
# runs each sync one in a thread, which costs a poll more than its statement does.
async def _of_job(job_id: Id, request: Request, services: Wired, wanted: WantedOfIt) -> None:
    def find() -> AnswerInBrief:
        found = services.store.answer_in_brief(JobId(job_id))
        if found is None:
            raise _unconfirmed(services.tuning_job(job_id))
        return _chosen(services, found, wanted)

    request.state.find = find


async def _of_app(app: App, request: Request, services: Wired, wanted: WantedOfIt) -> None:
    def find() -> AnswerInBrief:
        found = services.store.latest_in_brief(app)
        if found is None:
            raise NotFound(f"there is no recommendation for {app} yet")
        return _chosen(services, found, wanted)

    request.state.find = find


router = APIRouter(prefix="/v1")
router.include_router(calls, prefix="/jobs/{id}", dependencies=[Depends(_of_job)])
router.include_router(calls, prefix="/apps/{app}", dependencies=[Depends(_of_app)])


def _chosen(services: Services, found: AnswerInBrief, wanted: Wanted) -> AnswerInBrief:
    """The answer, if it is new and good enough. Raises `Stale` or `Conflict`."""
    age = services.now() - found.finished_at
    limit = wanted.max_age_days
    if limit is not None and age > timedelta(days=limit):
        old = f"the recommendation of job {found.job} is {age.days} days old"
        raise Stale(f"{old}; the limit is {limit:g} days")
    if wanted.require == "better" and found.verdict is not Verdict.BETTER:
        reason = confirmed(services, found.job)[1].reason
        raise Conflict(f"the verdict is {found.verdict}: {reason}")
    if wanted.require == "better" and found.measure_again is not None:
        raise Conflict(f"the answer of job {found.job} was {found.measure_again}")
    return found


def _answer(
    request: Request,
    services: Services,
    media_type: str,
    written: Callable[[Job, Recommendation], str],
) -> Response:
    """What `written` makes of the answer; 304 if the caller has it already."""
    found: AnswerInBrief = request.state.find()
    tag = _tag(request, found)
    headers = {
        **kept_by(tag),
        "X-Tuner-Job": str(found.job),
        "X-Tuner-Verdict": found.verdict.value,
        **({"X-Tuner-Measure-Again": found.measure_again} if found.measure_again else {}),
    }
    if unchanged(request, tag):
        return Response(status_code=304, headers=headers)
    body = written(*confirmed(services, found.job))
    return Response(body, headers=headers, media_type=media_type)


def _tag(request: Request, found: AnswerInBrief) -> str:
    """A strong tag: an answer never changes, and one version always renders it alike."""
    form = request.query_params.get("form", "")
    asked = f"{_VERSION} {found.job} {found.revision} {request.url.path} {form}"
    return f'"{found.job}-{hashlib.sha256(asked.encode()).hexdigest()[:24]}"'


def confirmed(services: Services, job_id: int) -> tuple[Job, Recommendation]:
    """A job and its answer. Raises `Conflict` with the reason where it has none (yet)."""
    job = services.tuning_job(job_id)
    if job.recommendation is None:
        raise _unconfirmed(job)
    return job, job.recommendation


def _unconfirmed(job: Job) -> Conflict:
    return Conflict(f"job {job.id} {why_unfinished(job)}")


def why_unfinished(job: Job) -> str:
    """Why a job has no answer, as the end of a sentence about it."""
    if job.failure is not None:
        return f"failed: {job.failure.message}"
    if job.state is JobState.CANCELLED:
        return "was cancelled before it had an answer"
    if job.state is JobState.QUEUED:
        return "is still queued: there is no answer yet"
    return f"is still in phase {job.phase}: there is no answer yet"
