"""Lints in processes of their own: a deadline can end a process, but no thread.

A text may take long, on purpose or not. In a thread it would hold the interpreter's lock, and no
other call would be answered meanwhile.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import TimeoutError as TooLong
from contextlib import contextmanager
from functools import cache

from pebble import ProcessExpired, ProcessPool

from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.uwsgi.lint import Box, lint, repaired, subject_of
from tuner.uwsgi.lint.wire import answer_of
from tuner.uwsgi.options import known, of_build

CPU_S = 2.0
"""Of the processor, for one file: a machine that is busy with other work refuses no file."""

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
