"""The whole product once, on a real container: serve, submit, follow, answer, stop."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.jobs import check_succeeded
from tuner.errors import Conflict
from tuner.settings import Settings

if TYPE_CHECKING:
    from tuner.client import Client

YOUR_OWN = """\
Your own app, in three lines:
  mkdir -p ~/tuned && cp -r {mixed} ~/tuned/my-app  # edit target.yaml (name: my-app), uwsgi.ini
  TUNER_TARGET_APPS=~/tuned {tuner} serve &
  echo '{{app: my-app, target: {{target_app: my-app}}}}' | {tuner} submit - --wait"""


def demo(
    target: Annotated[str, typer.Option(help="The name of a target app.")] = "mixed",
) -> None:
    """Tune a sample app in a container and print the uwsgi.ini to deploy."""
    from rich.console import Console

    from tuner.cli.following import follow
    from tuner.cli.output import print_on
    from tuner.cli.own_service import started
    from tuner.cli.printing import recommendation_lines

    began = datetime.now(UTC)
    console = Console()
    folder = Settings.from_environ(os.environ).data_dir / "demo"
    with started(folder) as client:
        job = client.submit(_request(target))
        print_on(console, f"job {job.id}: tuning target_apps/{target} on this machine")
        job = follow(client, job.id, console, runs_on=False)
        first = job.progress.first_window_at
        if first is not None:
            seconds = (first - began).total_seconds()
            print_on(console, f"from the command to the first window: {seconds:.1f} s")
        check_succeeded(job)
        found = client.recommendation(job.id)
        print_on(console, "\n".join(["", *recommendation_lines(found)]))
        print_on(console, f"\nthe uwsgi.ini to deploy:\n\n{found.uwsgi_ini.rstrip()}")
        page = _save_report(client, job.id, folder)
        print_on(console, f"\nreport with charts: {page}\n\n{_your_own()}")


def _request(target: str) -> dict[str, Any]:
    return {"app": target, "target": {"target_app": target}, "budget": {"preset": "demo"}}


def _save_report(client: "Client", job_id: int, folder: Path) -> Path:
    """The report as a page; it stays when the service has stopped. Raises `Conflict`."""
    page = folder / f"job-{job_id}.html"
    text = client.report(job_id, "html")
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Conflict(f"{page}: {error.strerror}") from error
    return page


def _your_own() -> str:
    """The commands for another app, with the paths of this installation."""
    from tuner.catalogue import own_data

    program = sys.argv[0] if Path(sys.argv[0]).name == "tuner" else "tuner"
    return YOUR_OWN.format(mixed=own_data("target_apps") / "mixed", tuner=program)
