"""`tuner recommend`: the answer to deploy, and whether the deployed file has the same effect."""

import difflib
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tuner.cli import answers
from tuner.cli.answers import Form
from tuner.cli.jobs import connect
from tuner.cli.shared import (
    AppName,
    AsJson,
    Check,
    Container,
    Deployment,
    MaxAgeDays,
    Namespace,
    print_json,
    say,
)
from tuner.nouns.errors import InvalidInput, NotFound, Stale, TunerError

if TYPE_CHECKING:
    from tuner.cli.answers import Deployed
    from tuner.client import Client
    from tuner.nouns.model import Checker
    from tuner.nouns.schemas import RecommendationAnswer
    from tuner.uwsgi.derived import OptionDifference


# ---- `tuner recommend`: the file to deploy, and whether the deployed file has the same effect


def recommend(  # long: Typer reads the options from here
    app: AppName,
    check: Check = None,
    form: Annotated[
        Form,
        typer.Option(
            help="Print the whole file (ini, patched), only the changes (overlay), the file as a"
            " command, or the changes for where the options stand."
        ),
    ] = "patched",
    file: Annotated[
        str | None,
        typer.Option(
            "--in", metavar="FILE", help="The manifest or compose file to change; - is stdin."
        ),
    ] = None,
    values_map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION=PLACE,...",
            help="The key of a chart's values, the variable or the field of each option; * is for"
            " all others. Repeatable.",
        ),
    ] = None,
    service: Annotated[
        str | None, typer.Option(metavar="NAME", help="The service of the compose file.")
    ] = None,
    deployment: Deployment = None,
    container: Container = None,
    namespace: Namespace = "",
    require: Annotated[
        Literal["better"] | None, typer.Option(help="Exit with 4 unless the verdict is better.")
    ] = None,
    max_age_days: MaxAgeDays = None,
    as_json: AsJson = False,
) -> None:
    """Print the uwsgi.ini to deploy, or check the deployed file with --check.

    Exit code 0: printed, or the deployed file has the same effect. 1: it has another effect, or
    an option has no place in the form. 3: no recommendation, or too old. 4: no confirmed answer
    yet, or not the required verdict.
    """
    given = answers.Given(
        file=file,
        service=service,
        deployment=deployment,
        container=container,
        namespace=namespace,
        values_map=values_map or (),
    )
    answers.refuse(form, given)
    if check is not None and form not in answers.FILES:
        raise InvalidInput.at("--form", "a file is checked: take patched or overlay")
    deployed = None if check is None else answers.deployed(check, given)
    with connect() as client, stale_is_not_found():
        found = client.recommendation(app, max_age_days=max_age_days, require=require)
        if found.measure_again is not None:
            say(f"the answer of job {found.job} was {found.measure_again}")
        if deployed is not None:
            same = compare(client, deployed, found, _ini(client, found, form), as_json=as_json)
            _say_same(deployed, found, same, as_json=as_json)
        elif as_json:
            print_json(found)
        else:
            _print(client, found, form, given)


def _say_same(
    deployed: "Deployed", found: "RecommendationAnswer", same: dict[str, Any], *, as_json: bool
) -> None:
    if as_json:
        print_json(same)
    else:
        say(f"{deployed.name} has the same effect as the recommendation of job {found.job}")


def _ini(client: "Client", found: "RecommendationAnswer", form: Form) -> str:
    """The file in a form. By job number: a newer job may be done by now."""
    if form == "overlay" or form == "command":
        return client.ini(found.job, form)
    return found.uwsgi_ini


def _print(
    client: "Client", found: "RecommendationAnswer", form: Form, given: answers.Given
) -> None:
    """Print the answer, and exit with 1 if an option has no place in it."""
    from tuner.cli import printing

    answer = answers.placed(client, found, form, given)
    text = _ini(client, found, form) if answer is None else answer.text
    say(printing.headline(found))
    if answer is not None and not found.lines:
        say("your own settings stay: there is nothing to change")
    for remark in answer.remarks if answer is not None else ():
        say(remark)
    sys.stdout.write(text)
    for sentence in answer.homeless if answer is not None else ():
        say(f"no place: {sentence}")
    if answer is not None and answer.homeless:
        raise typer.Exit(1)


@contextmanager
def stale_is_not_found() -> Iterator[None]:
    """A pipeline treats a recommendation that is too old as missing: exit code 3."""
    try:
        yield
    except Stale as error:
        raise NotFound(str(error)) from error


def compare(
    client: "Client",
    deployed: "Deployed",
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

    differ = semantic_diff(IniFile.parse(deployed.ini), IniFile.parse(text))
    lines = difference_lines(differ)
    report(client, found, Checker.RECOMMEND, holds=not differ, said="; ".join(lines))
    if not differ:
        return _check_document(found, (), "")
    new_name = f"{deployed.file}, as job {found.job} recommends it"
    diff = unified_diff(deployed.text, deployed.with_ini(text), deployed.file, new_name)
    if as_json:
        print_json(_check_document(found, differ, diff))
    else:
        say(f"{deployed.name} differs from the recommendation of job {found.job}:")
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
