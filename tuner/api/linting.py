"""Lints in processes of their own: a deadline can end a process, but no thread.

A text may take long, on purpose or not. In a thread it would hold the interpreter's lock, and no
other call would be answered meanwhile.
"""

import multiprocessing
import os
import threading
from concurrent.futures import TimeoutError as TooLong
from functools import cache

from pebble import ProcessExpired, ProcessPool

from tuner.errors import InvalidInput, Unavailable
from tuner.uwsgi.lint import Box, lint, repaired, subject_of
from tuner.uwsgi.lint.wire import answer_of
from tuner.uwsgi.options import known, of_build

WITHIN_S = 2.0
PROCESSES = 2
NICENESS = 10
MOST_WAITING = 8
"""Lints that run or wait. More are refused: each waiting call holds a thread of the service."""

_room = threading.BoundedSemaphore(MOST_WAITING)

Build = tuple[str, tuple[str, ...]]
"""The version of an image's uWSGI, and the options that it knows."""


def linted(ini: str, box: Box, build: Build | None, *, fix: bool) -> str:
    """The JSON of a `LintAnswer`.

    Raises `InvalidInput` for a text that takes longer than `WITHIN_S`, `Unavailable` while too many
    others wait.
    """
    if not _room.acquire(blocking=False):
        raise Unavailable("lint", f"{MOST_WAITING} other files are being read; try again")
    try:
        answer: str = _pool().schedule(_answer, [ini, box, build, fix], timeout=WITHIN_S).result()
    except TooLong:
        message = f"reading it takes more than {WITHIN_S:g} s; `tuner lint FILE` has no such limit"
        raise InvalidInput.at("ini", message) from None
    except ProcessExpired as end:
        raise Unavailable("lint", f"the process that read the file ended: {end}") from end
    finally:
        _room.release()
    return answer


@cache
def _pool() -> ProcessPool:
    """Started with the first lint; its processes end with ours."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # a process in the place of an ended one is quick
    # At a low priority: polls come first.
    return ProcessPool(PROCESSES, context=context, initializer=os.nice, initargs=[NICENESS])


def _answer(ini: str, box: Box, build: Build | None, fix: bool) -> str:
    catalogue = of_build(*build) if build else known()
    subject = subject_of(ini, catalogue, box)
    if not fix:
        return answer_of(lint(subject), catalogue).model_dump_json()
    fixed_ini, findings = repaired(ini, subject)
    return answer_of(findings, catalogue, fixed_ini).model_dump_json()
