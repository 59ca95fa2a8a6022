"""A job until it ends: a live line on a terminal, one line for each change elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console

from tuner.cli.output import print_on, say
from tuner.cli.own_service import cancel_others
from tuner.cli.printing import error_lines, known_lines, progress, sight, submitted_lines
from tuner.client import Asked, Client
from tuner.nouns.errors import Unavailable
from tuner.nouns.model import FailureCode, JobKind
from tuner.nouns.schemas import JobAnswer

POLL_S = 1.0
CONTINUES = "job {0} continues; follow it with: tuner watch {0}"
GOES_ON = "the same command goes on with job {0}"


class Show(Protocol):
    """Shows the present line; `keep` also leaves it on the screen."""

    def __call__(self, line: str, *, keep: bool = False) -> None: ...


def run(
    client: Client,
    request: Asked,
    *,
    runs_on: bool,
    quiet: bool,
    goes_on: bool = False,
    max_age_days: float | None = None,
) -> JobAnswer:
    """The job of a request, once it has ended; see `follow`.

    `goes_on`: take an equal job that has not ended; with `max_age_days` also one that succeeded at
    most so many days ago. Without any, submit the request. `runs_on`: the service outlives this
    command; one that does not measures this job alone.
    """
    if goes_on:
        job, is_new = client.go_on(request, max_age_days=max_age_days)
    else:
        job, is_new = client.submit(request), True
    if not quiet:
        say("\n".join((submitted_lines if is_new else known_lines)(job, client.url)))
    if job.state.is_final:
        return job
    if not runs_on:
        cancel_others(client, job.id)
    at_stop = CONTINUES if runs_on else GOES_ON if goes_on else ""
    ended = follow(client, job.id, Console(stderr=True, quiet=quiet), at_stop)
    if is_new or ended.failure is None or ended.failure.code is not FailureCode.INFRASTRUCTURE:
        return ended
    # Its earlier blocks cannot be added to, for example because the app's image has changed.
    return run(client, request, runs_on=runs_on, quiet=quiet)


def follow(client: Client, job_id: int, console: Console, at_stop: str = CONTINUES) -> JobAnswer:
    """Show each change of a job until it has ended, and why it failed; the job.

    `at_stop` is said after Ctrl-C, with the number of the job. Raises `Unavailable` if the service
    has been away for a minute.
    """
    try:
        with _shown_on(console) as show:
            job = _followed(client, job_id, show)
    except KeyboardInterrupt:
        if at_stop:
            say(at_stop.format(job_id))
        raise
    why = () if job.failure is None else error_lines(job.failure)
    print_on(console, "\n".join([f"job {job_id} {job.state}", *why]))
    return job


def _followed(client: Client, job_id: int, show: Show) -> JobAnswer:
    def wait(error: Unavailable) -> None:
        show(f"waiting: {error}")

    phase, is_calibrated = None, False
    for job in client.watch(job_id, poll_s=POLL_S, on_away=wait):
        is_new_phase, phase = job.phase != phase, job.phase
        if job.kind is JobKind.TUNE and job.calibration is not None and not is_calibrated:
            is_calibrated = True
            show(sight(job.calibration), keep=True)
        if not job.state.is_final:
            show(progress(job), keep=is_new_phase)
    return job


@contextmanager
def _shown_on(console: Console) -> Iterator[Show]:
    if not console.is_terminal:
        yield _plain(console)
        return
    with console.status("") as status:

        def live(line: str, *, keep: bool = False) -> None:
            if keep:
                print_on(console, line)
            status.update(line.replace("[", r"\["))

        yield live


def _plain(console: Console) -> Show:
    shown = ""

    def print_changes(line: str, *, keep: bool = False) -> None:
        nonlocal shown
        if line != shown:
            print_on(console, line)
        shown = line

    return print_changes
