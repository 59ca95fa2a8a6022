"""Commands that talk to the API: submit, watch, show, cancel."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.errors import InvalidInput, Mistake
from tuner.model import JobKind, JobState
from tuner.settings import Settings

if TYPE_CHECKING:
    from tuner.client import Client, ReportForm
    from tuner.schemas import JobAnswer, RecommendationAnswer

JobNumber = Annotated[int, typer.Argument(metavar="JOB", min=1, help="The job's number.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines: the API's own answer.")]


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
            _follow_to_the_end(client, job.id, as_json=as_json)
        elif as_json:
            _print_json(job)


def watch(job_id: JobNumber, as_json: AsJson = False) -> None:
    """Follow a job of any kind until it ends, and print its answer."""
    with connect() as client:
        _follow_to_the_end(client, job_id, as_json=as_json)


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
        job = client.job(job_id)
        found = _recommendation(client, job)
        if form is not None and job.kind is not JobKind.TUNE:
            raise _mistake("--report", "only a tuning job has one")
        text = client.report(job_id, form) if form is not None else ""
    if report == "-":
        sys.stdout.write(text)
        return
    if report is not None:
        _write(report, text)
    if as_json:
        _print_json(_whole(job, found))
        return
    from tuner.cli import printing
    from tuner.client import document_of

    _print_lines(printing.job_lines(document_of(job)))
    _print_measured(job)
    if found is not None:
        _print_lines(["", *printing.recommendation_lines(document_of(found))])


def cancel(job_id: JobNumber, as_json: AsJson = False) -> None:
    """Call a job of any kind off."""
    with connect() as client:
        job = client.cancel(job_id)
    if as_json:
        _print_json(job)
    else:
        typer.echo(f"job {job.id} is {job.state}")


def connect() -> "Client":
    """A client of the service that the environment names."""
    from tuner.client import Client

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


def submitted_line(job: "JobAnswer") -> str:
    """`job 7: submitted`, or what it is queued behind."""
    from tuner.cli import printing
    from tuner.client import document_of

    waits = printing.behind(document_of(job))
    return f"job {job.id}: submitted" + (f", queued {waits}" if waits else "")


def end_of(job: Mapping[str, Any]) -> None:
    """Leave with exit code 1 unless the job succeeded; `keep your file` is a success."""
    if job["state"] != JobState.SUCCEEDED:
        raise typer.Exit(1)


def _form_of(report: str, *, as_json: bool) -> "ReportForm":
    """The form of a report by its file's name. Raises `InvalidInput`, before anything is asked."""
    if report == "-":
        if as_json:
            raise _mistake("--report", "- and --json both print: give the report a file")
        return "md"
    forms: Mapping[str, ReportForm] = {".html": "html", ".md": "md", ".json": "json"}
    form = forms.get(Path(report).suffix.lower())
    if form is None:
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


def _recommendation(client: "Client", job: "JobAnswer") -> "RecommendationAnswer | None":
    """The answer of a tuning job that is done; it has an address of its own."""
    done = job.state is JobState.SUCCEEDED
    return client.recommendation(job.id) if done and job.kind is JobKind.TUNE else None


def _whole(job: "JobAnswer", found: "RecommendationAnswer | None") -> Any:
    """All there is for machines."""
    return {"job": job, "recommendation": found} if job.kind is JobKind.TUNE else job


def _print_measured(job: "JobAnswer") -> None:
    """The answer of a measurement or a calibration, once there is one."""
    from tuner.cli import tables
    from tuner.client import document_of

    if job.report is not None:
        tables.show(*tables.measurement_parts(document_of(job)))
    if job.kind is JobKind.CALIBRATE and job.calibration is not None:
        tables.show(*tables.calibration_parts(document_of(job)))


def _follow_to_the_end(client: "Client", job_id: int, *, as_json: bool) -> None:
    from rich.console import Console

    from tuner.cli import following, printing
    from tuner.client import document_of

    try:
        with following.shown_on(Console(stderr=True, quiet=as_json)) as shown:
            job = following.follow(client, job_id, shown)
    except KeyboardInterrupt:
        _say(f"the job goes on; see it with: tuner watch {job_id}")
        raise
    found = _recommendation(client, job)
    if as_json:
        _print_json(_whole(job, found))
    elif found is not None:
        lines = printing.recommendation_lines(document_of(found))
        _print_lines([*lines, "", found.uwsgi_ini.rstrip()])
    elif job.state is JobState.SUCCEEDED:
        _print_measured(job)
    else:
        _say("\n".join([f"job {job_id} {job.state}", *printing.error_lines(document_of(job))]))
    end_of(document_of(job))


def _mistake(path: str, message: str) -> InvalidInput:
    return InvalidInput([Mistake(path, message)])


def _say(line: str) -> None:
    """For the person; standard output is for what was asked for."""
    typer.echo(line, err=True)


def _print_lines(lines: Iterable[str]) -> None:
    typer.echo("\n".join(lines))


def _print_json(answer: Any) -> None:
    from tuner.client import document_of

    typer.echo(json.dumps(document_of(answer), indent=2))
