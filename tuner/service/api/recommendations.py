"""The verdict and the files to deploy, of a job and of an app's newest job."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from tuner.nouns.errors import Conflict, NotFound, Stale
from tuner.nouns.model import (
    NAME,
    AnswerInBrief,
    Job,
    JobId,
    JobState,
    Limits,
    Recommendation,
    Verdict,
    box_of,
)
from tuner.nouns.schemas import IniForm, RecommendationAnswer, SysctlForm
from tuner.service.api import reference
from tuner.service.api.parameters import MAX_AGE_DAYS, Id, IfNoneMatch, kept_by, unchanged
from tuner.service.api.problems import documented
from tuner.service.api.services import Services, Wired
from tuner.service.api.views import recommendation_answer
from tuner.uwsgi.command_line import command_of
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.options import known

# ---- The files of a recommendation: the ini, and the limits that it relies on

_UNFIT = re.compile(r"[^a-z0-9-]")  # in a name that becomes part of a DNS name

INI_PATH = "/etc/uwsgi/uwsgi.ini"
"""The compose file mounts the recommended ini here."""


def ini_of(found: Recommendation, form: IniForm) -> str:
    """The user's file with the changes in place, or the changes alone for a second --ini.

    Or the whole file as a command line. Raises `Conflict` if that form cannot have it all.
    """
    match form:
        case "patched":
            return found.uwsgi_ini
        case "overlay":
            if not found.overlay_ini:
                raise Conflict("a second --ini cannot take a line out: take the patched file")
            return found.overlay_ini
        case "command":
            try:
                return f"{command_of(IniFile.parse(found.uwsgi_ini), known())}\n"
            except ValueError as error:
                raise Conflict(f"the file is no command: {error}") from error


def compose_of(job: Job, found: Recommendation) -> str:
    """A compose file with the box that the file relies on."""
    spec = job.spec
    path = spec.target.ini_path or INI_PATH
    words = [word.replace("{ini}", path) for word in spec.target.command]
    command = [word.replace("$", "$$") for word in words]  # or Compose would put variables in
    start = f"    command: {json.dumps(command)}\n" if command else ""
    # Every JSON string is a YAML string.
    head = f"""\
# The box in which job {job.id} measured {spec.app}: the recommended uwsgi.ini relies on it.
services:
  {json.dumps(spec.app)}:
    image: {json.dumps(spec.target.image or f"{spec.target.target_app}:latest")}
{start}    volumes:
      - {json.dumps(f"./uwsgi.ini:{path}:ro")}
"""
    return head + _lines(_of_service(job, box_of(spec.limits, found.lines)), indent=4)


def sysctls_of(job: Job, found: Recommendation, form: SysctlForm) -> str:
    """The kernel settings that the file relies on, and the other limits of its container.

    `plain` is for sysctl.conf, which holds kernel settings only: the other limits are comments.
    `compose` goes into a Compose service, `kubernetes` into a pod's spec.
    """
    limits = box_of(job.spec.limits, found.lines)
    match form:
        case "plain":
            return _lines(_plain(job, limits))
        case "compose":
            return _lines(_of_service(job, limits))
        case "kubernetes":
            return _lines(_of_pod(job, limits))


def _plain(job: Job, limits: Limits) -> list[str]:
    lines = [f"# besides, per container: {limits.cpus:g} CPU, {limits.memory_mb} MB, no swap"]
    if _nofile(job) is not None:
        lines += [f"# and ulimit -n {_nofile(job)}"]
    return [*lines, *(f"{name} = {value}" for name, value in limits.kernel_settings.items())]


def _of_service(job: Job, limits: Limits) -> list[str]:
    lines = [
        f"cpus: {limits.cpus:g}",
        f"mem_limit: {limits.memory_mb}m",
        f"memswap_limit: {limits.memory_mb}m",
    ]
    if _nofile(job) is not None:
        lines += ["ulimits:", f"  nofile: {_nofile(job)}"]
    settings = (f"  {name}: {value}" for name, value in limits.kernel_settings.items())
    return [*lines, "sysctls:", *settings]


def _of_pod(job: Job, limits: Limits) -> list[str]:
    """Requests equal limits: a smaller request would let the node give the rest to other pods."""
    settings = limits.kernel_settings
    sizes = [f"cpu: {round(1000 * limits.cpus)}m", f"memory: {limits.memory_mb}Mi"]
    lines = [
        "# In the pod's spec. The kubelet allows those that it does not call safe with",
        f"# --allowed-unsafe-sysctls={','.join(settings)}",
        "securityContext:",
        "  sysctls:",
    ]
    for name, value in settings.items():
        lines += [f"    - name: {name}", f'      value: "{value}"']
    if _nofile(job) is not None:
        lines += [
            f"# ulimit -n was {_nofile(job)}: a pod cannot ask for it, the node's runtime sets it."
        ]
    return [
        *lines,
        "containers:",
        f'  - name: "{_UNFIT.sub("-", job.spec.app)}"',
        "    resources:",
        *(
            line
            for kind in ("requests", "limits")
            for line in (f"      {kind}:", *(f"        {size}" for size in sizes))
        ),
    ]


def _nofile(job: Job) -> int | None:
    """None for a job that did not record it."""
    return job.facts.nofile if job.facts is not None else None


def _lines(lines: Sequence[str], indent: int = 0) -> str:
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


# ---- The verdict and the files to deploy, of a job and of an app's newest job
#
# Both addresses have the same calls. Pipelines ask far more often than answers change, so a tag is
# made of the job's number and revision, the form and the program's version. A 304 costs one indexed
# look at a few columns and the doubts: the API neither loads nor renders the answer.

_VERSION = version("uwsgi-tuner")
_PROBLEMS = {**reference.NOT_MODIFIED, **documented(404, 409, 410, 422)}

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


@calls.get("/uwsgi.ini", response_class=Response, responses={**reference.text("ini"), **_PROBLEMS})
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
    responses={**reference.text("compose", "application/yaml"), **_PROBLEMS},
)
def compose(request: Request, services: Wired, if_none_match: IfNoneMatch = None) -> Response:
    """Limits and sysctls under which the file was measured, as a compose file."""
    return _answer(request, services, "application/yaml", compose_of)


@calls.get(
    "/sysctls",
    response_class=Response,
    responses={
        **reference.texts(sysctls="text/plain", sysctls_yaml="application/yaml"),
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
    media_type = "text/plain" if form == "plain" else "application/yaml"
    return _answer(request, services, media_type, lambda job, found: sysctls_of(job, found, form))


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
