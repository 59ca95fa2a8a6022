"""A request that is submitted and followed to its end, for commands that need its answer."""

from typing import TYPE_CHECKING

import typer

from tuner.cli.commands import submitted_line
from tuner.model import JobState

if TYPE_CHECKING:
    from tuner.client import Asked, Client
    from tuner.schemas import JobAnswer


def run(client: "Client", request: "Asked", *, goes_on: bool, quiet: bool) -> "JobAnswer":
    """Submit, follow to the end, and say why where it failed; the job.

    `goes_on` says whether the service outlives this command, so that Ctrl-C leaves the job to it.
    """
    from rich.console import Console

    from tuner.cli import following, printing
    from tuner.client import document_of

    submitted = client.submit(request)
    if not quiet:
        typer.echo(submitted_line(submitted), err=True)
    try:
        with following.shown_on(Console(stderr=True, quiet=quiet)) as shown:
            ended = following.follow(client, submitted.id, shown)
    except KeyboardInterrupt:
        if goes_on:
            typer.echo(f"it goes on; see it with: tuner watch {submitted.id}", err=True)
        raise
    if ended.state is not JobState.SUCCEEDED and not quiet:
        lines = [f"job {ended.id} {ended.state}", *printing.error_lines(document_of(ended))]
        typer.echo("\n".join(lines), err=True)
    return ended
