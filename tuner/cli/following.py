"""A job until it ends: a live line on a terminal, one line for each change elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console

from tuner.cli.output import print_on, say
from tuner.cli.printing import error_lines, progress, sight, submitted_line
from tuner.client import Asked, Client
from tuner.errors import Unavailable
from tuner.model import JobKind
from tuner.schemas import JobAnswer

POLL_S = 1.0


class Show(Protocol):
    """Shows the present line; `keep` also leaves it on the screen."""

    def __call__(self, line: str, *, keep: bool = False) -> None: ...


def run(client: Client, request: Asked, *, runs_on: bool, quiet: bool) -> JobAnswer:
    """Submit a request and follow its job to the end; see `follow`."""
    job = client.submit(request)
    if not quiet:
        say(submitted_line(job))
    return follow(client, job.id, Console(stderr=True, quiet=quiet), runs_on=runs_on)


def follow(client: Client, job_id: int, console: Console, *, runs_on: bool = True) -> JobAnswer:
    """Show each change of a job until it has ended, and why it failed; the job.

    `runs_on`: the service outlives this command, so Ctrl-C leaves the job running.
    Raises `Unavailable` if the service has been away for a minute.
    """
    try:
        with _shown_on(console) as show:
            job = _followed(client, job_id, show)
    except KeyboardInterrupt:
        if runs_on:
            say(f"job {job_id} continues; follow it with: tuner watch {job_id}")
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
