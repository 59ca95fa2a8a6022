"""Jobs on the command line: submit, watch, show, cancel, delete; and the file to deploy."""

import difflib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tuner.cli.shared import (
    STANDARD_INPUT,
    AppName,
    AsJson,
    Check,
    JobNumber,
    MaxAgeDays,
    check_folder,
    print_answer,
    print_json,
    print_lines,
    say,
    text_of,
    write_text,
)
from tuner.nouns.errors import InvalidInput, NotFound, Stale, TunerError
from tuner.nouns.model import JobKind, JobState
from tuner.service.settings import Settings

if TYPE_CHECKING:
    from tuner.client import Client
    from tuner.nouns.model import Checker
    from tuner.nouns.schemas import JobAnswer, RecommendationAnswer, ReportForm
    from tuner.uwsgi.derived import OptionDifference


# ---- `tuner submit`, `watch`, `show`, `cancel` and `delete`: jobs of the service

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


# ---- `tuner recommend`: the file to deploy, and whether the deployed file has the same effect


def recommend(  # long: Typer reads the options from here
    app: AppName,
    check: Check = None,
    form: Annotated[
        Literal["patched", "overlay", "command"],
        typer.Option(help="Print the whole file, only the changes, or the file as a command."),
    ] = "patched",
    require: Annotated[
        Literal["better"] | None, typer.Option(help="Exit with 4 unless the verdict is better.")
    ] = None,
    max_age_days: MaxAgeDays = None,
    as_json: AsJson = False,
) -> None:
    """Print the uwsgi.ini to deploy, or check the deployed file with --check.

    Exit code 0: printed, or the deployed file has the same effect. 1: it has another effect.
    3: no recommendation, or too old. 4: no confirmed answer yet, or not the required verdict.
    """
    from tuner.cli import printing

    if check is not None and form == "command":
        raise InvalidInput.at("--form", "a file is checked: take patched or overlay")
    deployed = None if check is None else text_of(check)
    with connect() as client, stale_is_not_found():
        found = client.recommendation(app, max_age_days=max_age_days, require=require)
        if found.measure_again is not None:
            say(f"the answer of job {found.job} was {found.measure_again}")
        # By job number: a newer job may be done by now.
        text = found.uwsgi_ini if form == "patched" else client.ini(found.job, form)
        same = None
        if check is not None and deployed is not None:
            same = compare(client, check, deployed, found, text, as_json=as_json)
    if same is not None:
        if as_json:
            print_json(same)
        else:
            say(f"{check} has the same effect as the recommendation of job {found.job}")
    elif as_json:
        print_json(found)
    else:
        say(printing.headline(found))
        sys.stdout.write(text)


@contextmanager
def stale_is_not_found() -> Iterator[None]:
    """A pipeline treats a recommendation that is too old as missing: exit code 3."""
    try:
        yield
    except Stale as error:
        raise NotFound(str(error)) from error


def compare(
    client: "Client",
    file: str,
    deployed: str,
    found: "RecommendationAnswer",
    text: str,
    *,
    as_json: bool,
) -> dict[str, Any]:
    """The JSON answer if the deployed file has the effect of `text`.

    Otherwise print the differences and exit with 1. The service hears of it.
    """
    from tuner.nouns.model import Checker
    from tuner.uwsgi.derived import semantic_diff
    from tuner.uwsgi.ini import IniFile

    differ = semantic_diff(IniFile.parse(deployed), IniFile.parse(text))
    lines = difference_lines(differ)
    report(client, found, Checker.RECOMMEND, holds=not differ, said="; ".join(lines))
    if not differ:
        return _check_document(found, (), "")
    diff = unified_diff(deployed, text, file, f"{file}, as job {found.job} recommends it")
    if as_json:
        print_json(_check_document(found, differ, diff))
    else:
        say(f"{file} differs from the recommendation of job {found.job}:")
        say("\n".join(f"  {line}" for line in lines))
        sys.stdout.write(diff)
    raise typer.Exit(1)


def report(
    client: "Client", found: "RecommendationAnswer", checker: "Checker", *, holds: bool, said: str
) -> None:
    """Report a check, for the pages of the app. The command does without it where it must."""
    from tuner.nouns.masking import masked
    from tuner.nouns.model import MOST_SAID, NewCheck

    new = NewCheck(checker=checker, job=found.job, holds=holds, said=masked(said)[:MOST_SAID])
    with suppress(TunerError):
        client.report_check(found.app, new)


def difference_lines(differ: "Sequence[OptionDifference]") -> list[str]:
    """One line for each option: the deployed and the recommended values."""
    return [
        f"{one.option}: {_values(one.first)} deployed, {_values(one.second)} recommended"
        for one in differ
    ]


def _values(values: Sequence[str]) -> str:
    return ", ".join(value or "(empty)" for value in values) or "not set"


def _check_document(
    found: "RecommendationAnswer", differ: "Sequence[OptionDifference]", diff: str
) -> dict[str, Any]:
    return {
        "app": found.app,
        "job": found.job,
        "verdict": found.verdict,
        "measure_again": found.measure_again,
        "same_effect": not differ,
        "differences": [
            {"option": one.option, "deployed": one.first, "recommended": one.second}
            for one in differ
        ],
        "diff": diff,
    }


def unified_diff(old: str, new: str, old_name: str, new_name: str) -> str:
    """The output of `diff -u`, as `patch` reads it."""
    old_lines, new_lines = _physical_lines(old), _physical_lines(new)
    lines = difflib.unified_diff(old_lines, new_lines, fromfile=old_name, tofile=new_name)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _physical_lines(text: str) -> list[str]:
    """Lines with their ends. Only a newline ends a line, as in uWSGI and in `patch`."""
    return list(io.StringIO(text, newline="\n"))
