"""The whole product once, on a real container: serve, submit, follow, answer, stop."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.errors import Conflict
from tuner.model import JobState
from tuner.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from tuner.client import Client
    from tuner.schemas import JobAnswer

YOUR_OWN = """\
Your own app, in three lines:
  mkdir -p ~/tuned && cp -r {mixed} ~/tuned/my-app  # edit target.yaml (name: my-app), uwsgi.ini
  TUNER_TARGET_APPS=~/tuned {tuner} serve &
  echo '{{app: my-app, target: {{target_app: my-app}}}}' | {tuner} submit - --wait"""


def demo(
    target: Annotated[str, typer.Option(help="The target app to tune.")] = "mixed",
) -> None:
    """Tune a real app in a container and print the uwsgi.ini to deploy."""
    from rich.console import Console

    from tuner.cli.own_service import started

    began = datetime.now(UTC)
    settings = Settings.from_environ(os.environ)
    console = Console()
    folder = settings.data_dir / "demo"
    with started(folder) as client:
        job = client.submit(_request(target))
        _print(console, f"job {job.id}: tuning target_apps/{target} on this machine")
        done = _follow(client, job.id, console)
        _print_answer(client, done, began, console)
        if done.state is not JobState.SUCCEEDED:
            raise typer.Exit(1)
        page = _save_report(client, done.id, folder)
        _print(console, f"\nthe evidence as a page, with its charts: {page}\n\n{_your_own()}")


def _request(target: str) -> dict[str, Any]:
    return {"app": target, "target": {"target_app": target}, "budget": {"preset": "demo"}}


def _follow(client: "Client", job_id: int, console: "Console") -> "JobAnswer":
    from tuner.cli import following

    with following.shown_on(console) as shown:
        return following.follow(client, job_id, shown)


def _print_answer(client: "Client", job: "JobAnswer", began: datetime, console: "Console") -> None:
    from tuner.cli import printing
    from tuner.client import document_of

    first = job.progress.first_window_at
    if first is not None:
        seconds = (first - began).total_seconds()
        _print(console, f"from the command to the first window: {seconds:.1f} s")
    if job.state is not JobState.SUCCEEDED:
        lines = printing.error_lines(document_of(job))
        _print(console, "\n".join([f"the job {job.state}", *lines]))
        return
    found = client.recommendation(job.id)
    text = [
        "",
        *printing.recommendation_lines(document_of(found)),
        "",
        "the uwsgi.ini to deploy:",
        "",
        found.uwsgi_ini.rstrip(),
    ]
    _print(console, "\n".join(text))


def _save_report(client: "Client", job_id: int, folder: Path) -> Path:
    """The report beside the demo's other data, where it stays when its service has gone.

    Raises `Conflict` where it cannot be written.
    """
    page = folder / f"job-{job_id}.html"
    text = client.report(job_id, "html")
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Conflict(f"{page}: {error.strerror}") from error
    return page


def _your_own() -> str:
    """What to type for another app, with the paths of this installation."""
    from tuner.catalogue import own_data

    program = sys.argv[0] if Path(sys.argv[0]).name == "tuner" else "tuner"
    return YOUR_OWN.format(mixed=own_data("target_apps") / "mixed", tuner=program)


def _print(console: "Console", text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
