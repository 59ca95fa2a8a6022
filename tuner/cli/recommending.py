"""`tuner recommend`: the file to deploy, and whether it is the one that is deployed."""

import difflib
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.commands import AsJson, connect
from tuner.errors import InvalidInput, Mistake, NotFound, Stale

if TYPE_CHECKING:
    from tuner.schemas import RecommendationAnswer
    from tuner.uwsgi.semantic_diff import OptionDifference

MaxAgeDays = Annotated[
    float | None, typer.Option(help="Exit with 3 where the newest answer is older.")
]
Check = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The deployed file: exit with 1 and a diff unless it has the same effect.",
    ),
]


class Form(StrEnum):
    """How the recommended file is rendered."""

    PATCHED = "patched"
    OVERLAY = "overlay"


class Required(StrEnum):
    """What the verdict has to be."""

    BETTER = "better"


def recommend(
    app: Annotated[str, typer.Argument(help="The app's name in its jobs.")],
    check: Check = None,
    form: Annotated[Form, typer.Option(help="The whole file, or the changes alone.")] = (
        Form.PATCHED
    ),
    require: Annotated[
        Required | None, typer.Option(help="Exit with 4 unless a file was found to be better.")
    ] = None,
    max_age_days: MaxAgeDays = None,
    as_json: AsJson = False,
) -> None:
    """Print the uwsgi.ini to deploy, or say whether the deployed one has the same effect."""
    from tuner.cli import printing
    from tuner.client import document_of

    deployed = None if check is None else text_of(check)
    with connect() as client, none_if_stale():
        found = client.app_recommendation(
            app, max_age_days=max_age_days, require=require.value if require else None
        )
        # By the job's number: the next job may have its answer by now.
        text = client.ini(found.job, "overlay") if form is Form.OVERLAY else found.uwsgi_ini
    if check is not None and deployed is not None:
        same = compare(check, deployed, found, text, as_json=as_json)
        if as_json:
            typer.echo(json.dumps(same, indent=2))
        else:
            typer.echo(f"{check} has the effect that job {found.job} recommends", err=True)
    elif as_json:
        typer.echo(json.dumps(document_of(found), indent=2))
    else:
        typer.echo(printing.headline(document_of(found)), err=True)
        sys.stdout.write(text)


@contextmanager
def none_if_stale() -> Iterator[None]:
    """To a pipeline an answer that is too old is none."""
    try:
        yield
    except Stale as error:
        raise NotFound(str(error)) from error


def compare(
    file: str, deployed: str, found: "RecommendationAnswer", text: str, *, as_json: bool
) -> dict[str, Any]:
    """Whether the deployed file has the effect of `text`, for machines.

    Where it has not, that is printed, and the command left with exit code 1.
    """
    from tuner.uwsgi.ini import IniFile
    from tuner.uwsgi.semantic_diff import semantic_diff

    differ = semantic_diff(IniFile.parse(deployed), IniFile.parse(text))
    if not differ:
        return _document(found, (), "")
    diff = unified_diff(deployed, text, file, f"{file}, as job {found.job} recommends it")
    if as_json:
        typer.echo(json.dumps(_document(found, differ, diff), indent=2))
    else:
        typer.echo(f"{file} is not what job {found.job} recommends:", err=True)
        typer.echo("\n".join(difference_lines(differ)), err=True)
        sys.stdout.write(diff)
    raise typer.Exit(1)


def difference_lines(differ: "Sequence[OptionDifference]") -> list[str]:
    """One line for each option: what is deployed, what is recommended."""
    return [
        f"  {one.option}: {_values(one.first)} deployed, {_values(one.second)} recommended"
        for one in differ
    ]


def _values(values: Sequence[str]) -> str:
    return ", ".join(value or "(empty)" for value in values) or "not set"


def _document(
    found: "RecommendationAnswer", differ: "Sequence[OptionDifference]", diff: str
) -> dict[str, Any]:
    return {
        "app": found.app,
        "job": found.job,
        "verdict": found.verdict.value,
        "same_effect": not differ,
        "differences": [
            {
                "option": one.option,
                "deployed": list(one.first),
                "recommended": list(one.second),
            }
            for one in differ
        ],
        "diff": diff,
    }


def unified_diff(old: str, new: str, old_name: str, new_name: str) -> str:
    """As `diff -u` prints it; `patch` takes it."""
    lines = difflib.unified_diff(
        _physical_lines(old), _physical_lines(new), fromfile=old_name, tofile=new_name
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _physical_lines(text: str) -> list[str]:
    """Lines with their endings; only a newline ends one, as in uWSGI and in `patch`."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def text_of(file: str) -> str:
    """A file's text, or standard input's for `-`. Raises `InvalidInput`."""
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8")
    except OSError as error:
        raise InvalidInput([Mistake(file, error.strerror or "cannot be read")]) from error
    except UnicodeDecodeError as error:
        raise InvalidInput([Mistake(file, "is not UTF-8 text")]) from error
