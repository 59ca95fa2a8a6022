"""Jobs on the command line: submit, watch, show, finish, cancel, delete."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.shared import (
    STANDARD_INPUT,
    AsJson,
    JobNumber,
    check_folder,
    print_answer,
    print_json,
    print_lines,
    say,
    write_text,
)
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import JobKind, JobState
from tuner.service.settings import Settings

if TYPE_CHECKING:
    from tuner.client import Client
    from tuner.nouns.schemas import JobAnswer, RecommendationAnswer, ReportForm


# ---- `tuner submit`, `watch`, `show`, `finish`, `cancel` and `delete`: jobs of the service

_FORMS: "dict[str, ReportForm]" = {".html": "html", ".md": "md", ".json": "json", ".csv": "csv"}


def submit(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The job as YAML or JSON; - is standard input.")
    ],
    wait: Annotated[bool, typer.Option(help="Follow the job and print its answer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit the job that a YAML or JSON file describes."""
    from tuner.cli import printing
    from tuner.cli.asking import read_document

    document = read_document(file)
    with connect() as client:
        job = client.submit(document)
        if not as_json:
            say("\n".join(printing.submitted_lines(job, client.url)))
        if wait:
            _follow_to_the_end(client, job.id, as_json=as_json)
        elif as_json:
            print_json(job)


def watch(job_id: JobNumber, as_json: AsJson = False) -> None:
    """Follow a job until it ends, and print its answer. Ctrl-C leaves the job running."""
    with connect() as client:
        _follow_to_the_end(client, job_id, as_json=as_json)


def show(
    job_id: JobNumber,
    as_json: AsJson = False,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the report to a .html, .md, .json or .csv file; - prints Markdown.",
        ),
    ] = None,
) -> None:
    """Print the state of a job, and its answer when the job is done."""
    form = _form_of(report, as_json=as_json) if report is not None else None
    with connect() as client:
        job = client.job(job_id)
        found = _recommendation(client, job)
        text = client.report(job_id, form) if form is not None else ""
    if report == STANDARD_INPUT:
        sys.stdout.write(text)
        return
    if report is not None:
        write_text("--report", Path(report), text)
        say(f"report: {report}")
    if as_json:
        print_json(_document(job, found))
        return
    from tuner.cli import printing

    print_lines(printing.job_lines(job))
    _print_tables(job)
    if found is not None:
        print_lines(["", *printing.recommendation_lines(found)])


def cancel(job_id: JobNumber, as_json: AsJson = False) -> None:
    """Cancel a job of any kind."""
    with connect() as client:
        job = client.cancel(job_id)
    print_answer(job, [f"job {job.id} is {job.state}"], as_json=as_json)


def finish(job_id: JobNumber, as_json: AsJson = False) -> None:
    """Have a tuning job confirm its best candidate so far, and end."""
    with connect() as client:
        job = client.finish(job_id)
    print_answer(job, [f"job {job.id} finishes; it is in the phase {job.phase}"], as_json=as_json)


def delete(
    job_id: JobNumber,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a job that has ended, with its trials, windows, answer and links."""
    if not yes:
        typer.confirm(f"Delete job {job_id} and all its data?", abort=True)
    with connect() as client:
        client.delete(job_id)
    typer.echo(f"job {job_id} is deleted")


def connect() -> "Client":
    """A client of the service that the environment names."""
    from tuner.client import Client

    settings = Settings.from_environ(os.environ)
    return Client(settings.url, settings.api_key)


def check_succeeded(job: "JobAnswer") -> None:
    """Exit with 1 unless the job succeeded. `keep your file` is a success."""
    if job.state is not JobState.SUCCEEDED:
        raise typer.Exit(1)


def _form_of(report: str, *, as_json: bool) -> "ReportForm":
    """The form of a report. Raises `InvalidInput` before any call."""
    if report != STANDARD_INPUT:
        return form_of(Path(report))
    if as_json:
        raise InvalidInput.at("--report", "- and --json both print: name a file")
    return "md"


def form_of(report: Path) -> "ReportForm":
    """The form of a report by the file's ending. Raises `InvalidInput`."""
    form = _FORMS.get(report.suffix.lower())
    if form is None:
        raise InvalidInput.at("--report", f"{report} must end in one of {', '.join(_FORMS)}")
    check_folder("--report", report)
    return form


def _recommendation(client: "Client", job: "JobAnswer") -> "RecommendationAnswer | None":
    """The answer of a tuning job that is done."""
    is_done = job.state is JobState.SUCCEEDED and job.kind is JobKind.TUNE
    return client.recommendation(job.id) if is_done else None


def _document(job: "JobAnswer", found: "RecommendationAnswer | None") -> object:
    return {"job": job, "recommendation": found} if job.kind is JobKind.TUNE else job


def _print_tables(job: "JobAnswer") -> None:
    """The answer of a comparison or a calibration that is done."""
    from tuner.cli import tables

    if job.report is not None:
        tables.show(tables.comparison_parts(job, job.report))
    if job.kind is JobKind.CALIBRATE and job.calibration is not None:
        tables.show(tables.calibration_parts(job, job.calibration))


def _follow_to_the_end(client: "Client", job_id: int, *, as_json: bool) -> None:
    from rich.console import Console

    from tuner.cli import following, printing

    job = following.follow(client, job_id, Console(stderr=True, quiet=as_json))
    found = _recommendation(client, job)
    if as_json:
        print_json(_document(job, found))
    elif found is not None:
        lines = printing.recommendation_lines(found)
        print_lines([*lines, ""])
        typer.echo(found.uwsgi_ini.rstrip())  # letter by letter
    elif job.state is JobState.SUCCEEDED:
        _print_tables(job)
    check_succeeded(job)
