"""Lints in processes of their own: a deadline can end a process, but no thread.

A text may take long, on purpose or not. In a thread it would hold the interpreter's lock, and no
other call would be answered meanwhile.
"""

import multiprocessing
import signal
import threading
from concurrent.futures import TimeoutError as TooLong
from functools import cache

from pebble import ProcessExpired, ProcessPool

from tuner.errors import InvalidInput, Unavailable
from tuner.uwsgi.lint import Box, limited
from tuner.uwsgi.lint.limited import Build, answer_within, get_ready

CPU_S = 2.0
"""Of the processor, for one file: a machine that is busy with other work refuses no file."""

WITHIN_S = 20.0
PROCESSES = 2
MOST_WAITING = 8
"""Lints that run or wait. More are refused: each waiting call holds a thread of the service."""

_room = threading.BoundedSemaphore(MOST_WAITING)


def linted(ini: str, box: Box, build: Build | None, *, fix: bool) -> str:
    """The JSON of a `LintAnswer`.

    Raises `InvalidInput` for a text that takes more than `CPU_S`, `Unavailable` while too many
    others wait, or if this machine has no time for it within `WITHIN_S`.
    """
    if not _room.acquire(blocking=False):
        raise Unavailable("lint", f"{MOST_WAITING} other files are being read; try again")
    task = [ini, box, build, fix, CPU_S]
    try:
        answer: str = _pool().schedule(answer_within, task, timeout=WITHIN_S).result()
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
    context.set_forkserver_preload(
        [limited.__name__]
    )  # a process in the place of an ended one is quick
    return ProcessPool(PROCESSES, context=context, initializer=get_ready)
