"""A job as it goes on: one live line on a terminal, one line a change elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console

from tuner.cli.printing import progress, sight
from tuner.client import Client, document_of
from tuner.errors import Unavailable
from tuner.model import JobKind
from tuner.schemas import JobAnswer

POLL_S = 1.0


class Show(Protocol):
    """Puts the present line in front of a person."""

    def __call__(self, line: str, *, keep: bool = False) -> None: ...


def follow(client: Client, job_id: int, show: Show) -> JobAnswer:
    """Show every change of a job until it has ended; the job.

    Raises `Unavailable` when the service has been away for a minute.
    """

    def wait(error: Unavailable) -> None:
        show(f"waiting: {error}")

    phase, calibrated = None, False
    for job in client.watch(job_id, poll_s=POLL_S, on_away=wait):
        is_new_phase, phase = job.phase != phase, job.phase
        if job.kind is JobKind.TUNE and job.calibration is not None and not calibrated:
            calibrated = True
            show(sight(document_of(job.calibration)), keep=True)
        show(progress(document_of(job)), keep=is_new_phase)
    return job


@contextmanager
def shown_on(console: Console) -> Iterator[Show]:
    """A `Show` for this console."""
    if not console.is_terminal:
        yield _plain(console)
        return
    with console.status("") as status:

        def live(line: str, *, keep: bool = False) -> None:
            if keep:
                console.print(line, markup=False, highlight=False)
            status.update(line.replace("[", r"\["))

        yield live


def _plain(console: Console) -> Show:
    shown = ""

    def print_changes(line: str, *, keep: bool = False) -> None:
        nonlocal shown
        if line != shown:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        shown = line

    return print_changes
