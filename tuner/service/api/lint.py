"""Lint a uwsgi.ini: its findings, and the corrected file; in processes that a deadline can end."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import TimeoutError as TooLong
from contextlib import contextmanager
from functools import cache
from typing import Any

from fastapi import APIRouter, Response
from pebble import ProcessExpired, ProcessPool
from pydantic import ValidationError

from tuner.nouns.errors import Conflict, InvalidInput, Mistake, Unavailable
from tuner.nouns.model import Job, JobId, wants_kept
from tuner.nouns.schemas import LintAnswer, LintRequest
from tuner.service.api import reference
from tuner.service.api.parameters import Body
from tuner.service.api.problems import documented
from tuner.service.api.reading import mistakes_of_shape
from tuner.service.api.services import Services, Wired
from tuner.uwsgi.lint import Box, lint, repaired, subject_of
from tuner.uwsgi.lint.linting import answer_of
from tuner.uwsgi.options import known, of_build

# ---- Lints in processes of their own: a deadline can end a process, but no thread
#
# A text may take long, on purpose or not. In a thread it would hold the interpreter's lock, and no
# other call would be answered meanwhile.

CPU_S = 2.0
"""CPU seconds for one file, not wall time: a machine that is busy refuses no file."""

WITHIN_S = 20.0
PROCESSES = 2
NICENESS = 10
MOST_WAITING = 8
"""Lints that run or wait. More are refused: each waiting call holds a thread of the service."""

_room = threading.BoundedSemaphore(MOST_WAITING)

Build = tuple[str, tuple[str, ...]]
"""The version of an image's uWSGI, and the options that it knows."""


def linted(ini: str, box: Box, build: Build | None, *, fix: bool) -> str:
    """The JSON of a `LintAnswer`.

    Raises `InvalidInput` for a text that takes more than `CPU_S`, `Unavailable` while too many
    others wait, or if this machine has no time for it within `WITHIN_S`.
    """
    if not _room.acquire(blocking=False):
        raise Unavailable("lint", f"{MOST_WAITING} other files are being read; try again")
    task = [ini, box, build, fix, CPU_S]
    try:
        answer: str = _pool().schedule(_answer, task, timeout=WITHIN_S).result()
    except TooLong:
        raise Unavailable("lint", f"no time to read the file within {WITHIN_S:g} s") from None
    except ProcessExpired as end:
        if end.exitcode != -signal.SIGPROF:
            raise Unavailable("lint", f"the process that read the file ended: {end}") from end
        limit = f"reading it takes more than {CPU_S:g} s; `tuner lint FILE` has no such limit"
        raise InvalidInput.at("ini", limit) from None
    finally:
        _room.release()
    return answer


@cache
def _pool() -> ProcessPool:
    """Started with the first lint; its processes end with ours."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # a process in the place of an ended one is quick
    return ProcessPool(PROCESSES, context=context, initializer=_start)


def _start() -> None:
    """Load what every lint needs, then go on at a low priority: polls come first."""
    subject_of("", known(), Box())
    os.nice(NICENESS)


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """End this process, also in the middle of a pattern, once it has computed for so long."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _answer(ini: str, box: Box, build: Build | None, fix: bool, cpu_s: float) -> str:
    with cpu_limit(cpu_s):
        catalogue = of_build(*build) if build else known()
        subject = subject_of(ini, catalogue, box)
        if not fix:
            return answer_of(lint(subject), catalogue).model_dump_json()
        fixed_ini, findings = repaired(ini, subject)
        return answer_of(findings, catalogue, fixed_ini).model_dump_json()


# ---- Lint a uwsgi.ini: its findings, and the corrected file

router = APIRouter(prefix="/v1", tags=["lint"])


@router.post(
    "/lint",
    response_model=LintAnswer,
    openapi_extra=reference.body("LintRequest"),
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
