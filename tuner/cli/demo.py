"""The whole product once, on a real container: serve, submit, follow, answer, stop."""

import os
import signal
import sys
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.asking import Json
from tuner.cli.jobs import check_succeeded
from tuner.cli.shared import AsJson, FolderOrApp, Fresh, app_folder
from tuner.nouns.errors import Conflict, InvalidInput
from tuner.service.settings import Settings

if TYPE_CHECKING:
    from tuner.client import Client

YOUR_OWN = """\
Your own app, in two commands:
  {tuner} app init ~/tuned/my-app --compose docker-compose.yml  # or write target.yaml and uwsgi.ini
  {tuner} tune ~/tuned/my-app"""


def demo(
    target: Annotated[str, typer.Option(help="The name of a target app.")] = "mixed",
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the service running, until Ctrl-C.")
    ] = False,
) -> None:
    """Tune a sample app in a container and print the uwsgi.ini to deploy."""
    from tuner.cli.shared import print_lines

    folder = Settings.from_environ(os.environ).data_dir / "demo"
    with _own_service(folder) as client:
        _tune(client, target, {"preset": "demo"}, folder)
        print_lines(["", _your_own()])
        if keep:
            print_lines(["", f"the service runs on at {client.url}/ until Ctrl-C"])
            with suppress(KeyboardInterrupt):
                signal.pause()


def tune(
    name: FolderOrApp,
    preset: Annotated[
        str, typer.Option(help="How much to measure: demo, quick, standard, thorough, noisy.")
    ] = "standard",
    minutes: Annotated[
        float | None, typer.Option(help="Measure less than that, to end within about so many.")
    ] = None,
    fresh: Fresh = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the phases and their minutes, and end.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Tune an app on this machine, without a running service, and print the uwsgi.ini to deploy.

    If the command was stopped, the same command goes on where it was. Its data stay in the folder
    `own` of TUNER_DATA_DIR. A plan needs neither Docker nor PostgreSQL.
    """
    budget = {"preset": preset} | ({} if minutes is None else {"minutes": minutes})
    if plan:
        _print_plan(name, budget, as_json=as_json)
        return
    if as_json:
        raise InvalidInput.at("--json", "goes with --plan; `tuner show JOB --json` has the answer")
    data, folder = Settings.from_environ(os.environ).data_dir / "own", app_folder(name)
    target, apps = (name, None) if folder is None else (folder.name, folder.parent)
    with _own_service(data, apps) as client:
        _tune(client, target, budget, data, goes_on=not fresh)


def _own_service(folder: Path, apps: Path | None = None) -> AbstractContextManager["Client"]:
    """A service with its data in `folder`, which also knows the target apps in `apps`."""
    from tuner.cli.following import started

    return started(folder, apps)


def _tune(
    client: "Client", target: str, budget: Json, folder: Path, *, goes_on: bool = False
) -> None:
    """Tune, print the answer, and leave the report in `folder`."""
    from rich.console import Console

    from tuner.cli.following import run
    from tuner.cli.printing import recommendation_lines
    from tuner.cli.shared import print_on

    began = datetime.now(UTC)
    console = Console()
    job = run(client, _request(target, budget), runs_on=False, quiet=False, goes_on=goes_on)
    first = job.progress.first_window_at
    if first is not None and first > began:  # else an earlier command began the job
        seconds = (first - began).total_seconds()
        print_on(console, f"from the command to the first window: {seconds:.1f} s")
    check_succeeded(job)
    found = client.recommendation(job.id)
    print_on(console, "\n".join(["", *recommendation_lines(found)]))
    print_on(console, f"\nthe uwsgi.ini to deploy:\n\n{found.uwsgi_ini.rstrip()}")
    page = _save_report(client, job.id, folder)
    print_on(console, f"\nreport with charts: {page}")


def _request(target: str, budget: Json) -> Json:
    return {"app": target, "target": {"target_app": target}, "budget": budget}


def _print_plan(app: str, budget: Json, *, as_json: bool) -> None:
    """What the job would do, from the app's files alone. Raises `InvalidInput` as the service."""
    from tuner.cli.app import found_app
    from tuner.cli.printing import plan_lines
    from tuner.cli.shared import print_answer
    from tuner.judge.analysis import within_minutes
    from tuner.service import bootstrap
    from tuner.service.api.reading import read_request
    from tuner.service.api.sizes import planned, size_of

    settings = Settings.from_environ(os.environ)
    known, target = found_app(app, settings)
    resolve = bootstrap.resolver(known, images_allowed=settings.images_allowed)
    spec = within_minutes(read_request(_request(target, budget), resolve), None)
    size = size_of(spec, planned(spec))
    print_answer(size, plan_lines(size), as_json=as_json)


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
    """The commands for another app, with the program of this installation."""
    return YOUR_OWN.format(tuner=sys.argv[0] if Path(sys.argv[0]).name == "tuner" else "tuner")
