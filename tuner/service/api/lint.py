"""Lint a uwsgi.ini: its findings, and the corrected file."""

import threading
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from tuner.nouns.errors import Conflict, InvalidInput, Mistake, Unavailable
from tuner.nouns.model import Job, JobId, wants_kept
from tuner.nouns.schemas import LintAnswer, LintRequest
from tuner.service.api import apart, reference
from tuner.service.api.parameters import understood
from tuner.service.api.problems import documented
from tuner.service.api.reading import validated
from tuner.service.api.services import Services, Wired
from tuner.uwsgi.lint import Box, lint, repaired, subject_of
from tuner.uwsgi.lint.linting import answer_of
from tuner.uwsgi.options import known, of_build, of_release

MOST_WAITING = 8
"""Lints that run or wait. More are refused: each waiting call holds a thread of the service."""

_room = threading.BoundedSemaphore(MOST_WAITING)

Build = tuple[str, tuple[str, ...]]
"""The version of an image's uWSGI, and the options that it knows."""


def linted(
    ini: str, box: Box, build: Build | None, release: str | None = None, *, fix: bool
) -> str:
    """The JSON of a `LintAnswer`, made in a process of its own.

    The options are those of the build, else of the release, else of the newest one.
    Raises `InvalidInput` for a text that takes too long, `Unavailable` while too many others wait.
    """
    if not _room.acquire(blocking=False):
        raise Unavailable("lint", f"{MOST_WAITING} other files are being read; try again")
    try:
        with apart.explained("ini", "`tuner lint FILE` has no such limit"):
            return apart.begun(_answer, ini, box, build, release, fix).result()
    finally:
        _room.release()


def _answer(ini: str, box: Box, build: Build | None, release: str | None, fix: bool) -> str:
    catalogue = of_build(*build) if build else of_release(release) if release else known()
    subject = subject_of(ini, catalogue, box)
    if not fix:
        return answer_of(lint(subject), catalogue).model_dump_json()
    fixed_ini, findings = repaired(ini, subject)
    return answer_of(findings, catalogue, fixed_ini).model_dump_json()


# ---- Lint a uwsgi.ini: its findings, and the corrected file

router = APIRouter(prefix="/v1", tags=["lint"])


async def _asked(request: Request) -> LintRequest:
    return await understood(request, _read, LintRequest)


@router.post(
    "/lint",
    response_model=LintAnswer,
    openapi_extra=reference.body("LintRequest"),
    responses=documented(404, 409, 413, 415, 422),
)
def lint_ini(asked: Annotated[LintRequest, Depends(_asked)], services: Wired) -> Response:
    """Findings in a uwsgi.ini, each with its line and its fix. Nothing is stored or run."""
    job = _job(services, asked.job) if asked.job is not None else None
    facts = job.facts if job else None
    build = (facts.uwsgi_version, facts.options) if facts else None
    if build and asked.uwsgi:
        raise InvalidInput.at("uwsgi", f"job {asked.job} says which uWSGI reads the file")
    answer = linted(asked.ini, _box(asked, job), build, asked.uwsgi, fix=asked.fix)
    return Response(answer, media_type="application/json")


def _read(document: Any) -> LintRequest:
    asked = validated(document, LintRequest)
    try:
        asked.ini.encode()
    except UnicodeEncodeError:
        raise InvalidInput([Mistake("ini", "text may not hold half of a surrogate pair")]) from None
    return asked


def _job(services: Services, number: int) -> Job:
    job = services.store.job(JobId(number))
    if job.facts is None:
        raise Conflict(f"job {number} has not seen its image yet: its options are not known")
    return job


def _box(asked: LintRequest, job: Job | None) -> Box:
    limits = asked.limits or (job.spec.limits if job else None)
    memory = asked.memory_per_process_mb
    if memory is None and job is not None and job.facts is not None:
        memory = job.facts.memory.per_process_mb
    return Box(
        cpus=limits.cpus if limits else None,
        memory_mb=limits.memory_mb if limits else None,
        somaxconn=limits.somaxconn if limits else None,
        nofile=limits.nofile if limits else None,
        memory_per_process_mb=memory,
        command=job.spec.target.command if job else (),
        clients_keep=asked.clients_keep or (job is not None and wants_kept(job.spec.workload)),
    )
