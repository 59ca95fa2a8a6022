"""A lint with an end: what runs in a process of its own, which has to start quickly."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tuner.uwsgi.lint.linting import lint, repaired
from tuner.uwsgi.lint.subject import Box, subject_of
from tuner.uwsgi.lint.wire import answer_of
from tuner.uwsgi.options import known, of_build

NICENESS = 10

Build = tuple[str, tuple[str, ...]]
"""The version of an image's uWSGI, and the options that it knows."""


def get_ready() -> None:
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


def answer_within(ini: str, box: Box, build: Build | None, fix: bool, cpu_s: float) -> str:
    """The JSON of a `LintAnswer`, or the end of this process by SIGPROF after so much CPU time."""
    with cpu_limit(cpu_s):
        catalogue = of_build(*build) if build else known()
        subject = subject_of(ini, catalogue, box)
        if not fix:
            return answer_of(lint(subject), catalogue).model_dump_json()
        fixed_ini, findings = repaired(ini, subject)
        return answer_of(findings, catalogue, fixed_ini).model_dump_json()
