"""Reading that a request can make long: in processes of their own, which a deadline can end.

A text or a document may take long to read, on purpose or not. In a thread it would hold the
interpreter's lock, and no other call would be answered meanwhile; and nothing can end a thread.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLong
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.uwsgi.lint import Box, subject_of
from tuner.uwsgi.options import known

CPU_S = 2.0
"""CPU seconds for one text, not wall time: a machine that is busy refuses no text."""

WITHIN_S = 20.0
PROCESSES = 2
NICENESS = 10
PRELOADED = ("tuner.service.api.lint", "tuner.service.api.reading")

T = TypeVar("T")


def begun(read: Callable[..., T], *given: Any) -> "Future[T]":
    """What a function of a module makes of texts; wait for it within `explained`."""
    future: Future[T] = _pool().schedule(_limited, [CPU_S, read, *given], timeout=WITHIN_S)
    return future


@contextmanager
def explained(path: str, advice: str) -> Iterator[None]:
    """Raise `InvalidInput` where it takes more than `CPU_S`, `Unavailable` for no time at all."""
    try:
        yield
    except TooLong:
        raise Unavailable("reading", f"no time to read it within {WITHIN_S:g} s") from None
    except ProcessExpired as end:
        if end.exitcode != -signal.SIGPROF:
            raise Unavailable("reading", f"the process that read it ended: {end}") from end
        limit = f"reading it takes more than {CPU_S:g} s; {advice}"
        raise InvalidInput.at(path, limit) from None


@cache
def _pool() -> ProcessPool:
    """Started with the first text; its processes end with ours."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED])  # a process in the place of an ended one is quick
    return ProcessPool(PROCESSES, context=context, initializer=_start)


def _start() -> None:
    """Load what every lint needs, then go on at a low priority: polls come first."""
    subject_of("", known(), Box())
    os.nice(NICENESS)


def _limited(cpu_s: float, read: Callable[..., T], *given: Any) -> T:
    with cpu_limit(cpu_s):
        return read(*given)


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """End this process, also in the middle of a pattern, once it has computed for so long."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
