"""Commands that talk to the API: submit, watch, show, recommend, cancel."""

import json
import os
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.errors import InvalidInput, Mistake
from tuner.settings import Settings

if TYPE_CHECKING:
    from tuner.cli.client import Client, Kind

JobNumber = Annotated[int, typer.Argument(metavar="JOB", min=1, help="The job's number.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines: the API's own answer.")]


class Form(StrEnum):
    """How the recommended file is rendered."""

    PATCHED = "patched"
    OVERLAY = "overlay"


def submit(
    file: Annotated[str, typer.Argument(help="The job as YAML or JSON; - is standard input.")],
    wait: Annotated[bool, typer.Option(help="Follow the job and print its answer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit a job."""
    document = read_document(file)
    with connect() as client:
        job = client.submit(document)
        if not as_json:
            _say(submitted_line(job))
        if wait:
            _follow_to_the_end(client, job["id"], "jobs", as_json=as_json)
        elif as_json:
            _print_json(job)


def watch(job_id: JobNumber, as_json: AsJson = False) -> None:
    """Follow a job of any kind until it ends, and print its answer."""
    with connect() as client:
        _follow_to_the_end(client, job_id, client.kind_of(job_id), as_json=as_json)


def show(
    job_id: JobNumber,
    as_json: AsJson = False,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the report: .html, .md or .json; - prints Markdown."
        ),
    ] = None,
) -> None:
    """Print where a job stands and, once it has one, its answer."""
    form = _form_of(report, as_json=as_json) if report is not None else None
    with connect() as client:
        kind = client.kind_of(job_id)
        job = client.job(job_id, kind)
        answer = _answer(client, kind, job)
        if form is not None and kind != "jobs":
            raise _mistake("--report", "only a tuning job has one")
        text = client.report(job_id, form) if form is not None else ""
    if report == "-":
        sys.stdout.write(text)
        return
    if report is not None:
        _write(report, text)
    if as_json:
        _print_json(answer)
        return
    from tuner.cli import printing

    _print_lines(printing.job_lines(job))
    if kind != "jobs":
        _print_measured(kind, job)
    elif answer["recommendation"] is not None:
        _print_lines(["", *printing.recommendation_lines(answer["recommendation"])])


def recommend(
    app: Annotated[str, typer.Argument(help="The app's name in its jobs.")],
    form: Annotated[Form, typer.Option(help="The whole file, or the changes alone.")] = (
        Form.PATCHED
    ),
    as_json: AsJson = False,
) -> None:
    """Print the uwsgi.ini to deploy, and nothing else, on standard output."""
    from tuner.cli import printing

    with connect() as client:
        found = client.app_recommendation(app)
        if as_json:
            _print_json(found)
            return
        text = client.app_ini(app, form.value)
    _say(printing.headline(found))
    sys.stdout.write(text)


def cancel(job_id: JobNumber, as_json: AsJson = False) -> None:
    """Call a job of any kind off."""
    with connect() as client:
        job = client.cancel(job_id, client.kind_of(job_id))
    if as_json:
        _print_json(job)
    else:
        typer.echo(f"job {job['id']} is {job['state']}")


def connect() -> "Client":
    """A client of the service that the environment names."""
    from tuner.cli.client import Client

    settings = Settings.from_environ(os.environ)
    return Client(settings.url, settings.api_key)


def read_document(file: str) -> Any:
    """The YAML or JSON document in a file or on standard input. Raises `InvalidInput`.

    A file of URLs that it names is looked for beside it; for standard input in this folder.
    """
    import yaml

    from tuner.model.url_file import expanded

    folder = Path() if file == "-" else Path(file).parent
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        found = expanded(_parsed(text), lambda name: (folder / name).read_text(encoding="utf-8"))
        json.dumps(found, allow_nan=False)
    except OSError as error:
        raise _mistake(file, error.strerror or "cannot be read") from error
    except UnicodeDecodeError as error:
        raise _mistake(file, "is not UTF-8 text") from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise _mistake(file, f"is no job: {' '.join(str(error).split())}") from error
    return found


def _parsed(text: str) -> Any:
    """YAML is not quite a superset of JSON: it refuses the tabs that JSON allows."""
    import yaml

    try:
        return json.loads(text)
    except ValueError:
        return yaml.safe_load(text)


def submitted_line(job: dict[str, Any]) -> str:
    """`job 7: submitted`, or what it is queued behind."""
    from tuner.cli import printing

    waits = printing.behind(job)
    return f"job {job['id']}: submitted" + (f", queued {waits}" if waits else "")


def end_of(job: dict[str, Any]) -> None:
    """Leave with exit code 1 unless the job succeeded; `keep your file` is a success."""
    if job["state"] != "succeeded":
        raise typer.Exit(1)


def _form_of(report: str, *, as_json: bool) -> str:
    """The form of a report by its file's name. Raises `InvalidInput`, before anything is asked."""
    if report == "-":
        if as_json:
            raise _mistake("--report", "- and --json both print: give the report a file")
        return "md"
    form = Path(report).suffix.lower().removeprefix(".")
    if form not in ("html", "md", "json"):
        raise _mistake("--report", f"{report} ends neither in .html nor in .md nor in .json")
    if not Path(report).absolute().parent.is_dir():
        raise _mistake("--report", f"there is no folder {Path(report).absolute().parent}")
    return form


def _write(file: str, text: str) -> None:
    """Raises `InvalidInput` where it cannot be written."""
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _mistake("--report", f"{file}: {error.strerror}") from error
    _say(f"report: {file}")


def _answer(client: "Client", kind: "Kind", job: dict[str, Any]) -> dict[str, Any]:
    """All there is for machines: a tuning job has its answer at an address of its own."""
    if kind != "jobs":
        return job
    done = job["state"] == "succeeded"
    return {"job": job, "recommendation": client.recommendation(job["id"]) if done else None}


def _print_measured(kind: "Kind", job: dict[str, Any]) -> None:
    """The answer of a measurement or a calibration, once there is one."""
    from tuner.cli import tables

    if kind == "measurements" and job["report"] is not None:
        tables.show(*tables.measurement_parts(job))
    if kind == "calibrations" and job["calibration"] is not None:
        tables.show(*tables.calibration_parts(job))


def _follow_to_the_end(client: "Client", job_id: int, kind: "Kind", *, as_json: bool) -> None:
    from rich.console import Console

    from tuner.cli import following, printing

    try:
        with following.shown_on(Console(stderr=True, quiet=as_json)) as shown:
            job = following.follow(client, job_id, shown, kind=kind)
    except KeyboardInterrupt:
        _say(f"the job goes on; see it with: tuner watch {job_id}")
        raise
    answer = _answer(client, kind, job)
    if as_json:
        _print_json(answer)
    elif job["state"] == "succeeded" and kind != "jobs":
        _print_measured(kind, job)
    elif job["state"] == "succeeded":
        found = answer["recommendation"]
        _print_lines([*printing.recommendation_lines(found), "", found["uwsgi_ini"].rstrip()])
    else:
        _say("\n".join([f"job {job_id} {job['state']}", *printing.error_lines(job)]))
    end_of(job)


def _mistake(path: str, message: str) -> InvalidInput:
    return InvalidInput([Mistake(path, message)])


def _say(line: str) -> None:
    """For the person; standard output is for what was asked for."""
    typer.echo(line, err=True)


def _print_lines(lines: Iterable[str]) -> None:
    typer.echo("\n".join(lines))


def _print_json(answer: Any) -> None:
    typer.echo(json.dumps(answer, indent=2))
