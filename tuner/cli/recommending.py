"""`tuner recommend`: the file to deploy, and whether the deployed file has the same effect."""

import difflib
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tuner.cli.jobs import connect
from tuner.cli.shared import AppName, AsJson, Check, MaxAgeDays, print_json, say, text_of
from tuner.nouns.errors import InvalidInput, NotFound, Stale, TunerError

if TYPE_CHECKING:
    from tuner.client import Client
    from tuner.nouns.model import Checker
    from tuner.nouns.schemas import RecommendationAnswer
    from tuner.uwsgi.semantic_diff import OptionDifference


def recommend(
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
    from tuner.uwsgi.ini import IniFile
    from tuner.uwsgi.semantic_diff import semantic_diff

    differ = semantic_diff(IniFile.parse(deployed), IniFile.parse(text))
    lines = difference_lines(differ)
    report(client, found, Checker.RECOMMEND, holds=not differ, said="; ".join(lines))
    if not differ:
        return _document(found, (), "")
    diff = unified_diff(deployed, text, file, f"{file}, as job {found.job} recommends it")
    if as_json:
        print_json(_document(found, differ, diff))
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


def _document(
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
