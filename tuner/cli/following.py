"""A job as it goes on: one live line on a terminal, one line a change elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console

from tuner.cli.client import Client, Kind
from tuner.cli.printing import FINAL, progress, sight
from tuner.errors import Unavailable

POLL_S = 1.0
PATIENCE_S = 60.0
"""A service that restarts is waited for; its jobs go on where they were."""


class Show(Protocol):
    """Puts the present line in front of a person."""

    def __call__(self, line: str, *, keep: bool = False) -> None: ...


def follow(
    client: Client,
    job_id: int,
    show: Show,
    *,
    kind: Kind = "jobs",
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Show every change of a job until it has ended; the job.

    Raises `Unavailable` when the service has been away for a minute.
    """
    phase, away_since, calibrated = None, None, False
    while True:
        try:
            job = client.job(job_id, kind)
            away_since = None
        except Unavailable as error:
            away_since = clock() if away_since is None else away_since
            if clock() - away_since > PATIENCE_S:
                raise
            show(f"waiting: {error}")
        else:
            is_new_phase, phase = job["phase"] != phase, job["phase"]
            if kind == "jobs" and job["calibration"] is not None and not calibrated:
                calibrated = True
                show(sight(job["calibration"]), keep=True)
            show(progress(job), keep=is_new_phase)
            if job["state"] in FINAL:
                return job
        sleep(POLL_S)


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
