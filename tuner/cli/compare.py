"""`tuner compare`: the arms of a suite, which are uwsgi.ini files and other servers."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.arguments import AsJson, CsvFile, Fresh, Pool, PriorityOption, ReportFile, Svg
from tuner.cli.jobs import check_succeeded
from tuner.cli.output import say
from tuner.nouns.model import box_of

if TYPE_CHECKING:
    from tuner.cli.asking import Json
    from tuner.nouns.schemas import RecommendationAnswer


TUNED_WITHIN_DAYS = 1
"""An equal tuning job that succeeded within this time is not run again for --tune."""


def compare(
    suite: Annotated[
        str, typer.Argument(metavar="SUITE", help="One of our suites, or a suite.yaml.")
    ],
    only: Annotated[
        list[str] | None, typer.Option(metavar="ARM", help="Measure this arm. Repeatable.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Fresh starts of each arm; default: the suite's.")
    ] = None,
    keep_alive: Annotated[
        bool, typer.Option("--keep-alive", help="Clients keep their connections.")
    ] = False,
    tune: Annotated[
        str | None,
        typer.Option(metavar="ARM", help="Tune the file of this arm first; its answer joins."),
    ] = None,
    preset: Annotated[str, typer.Option(help="How much --tune measures.")] = "standard",
    space: Annotated[str | None, typer.Option(help="The search space of --tune.")] = None,
    pool: Pool = None,
    priority: PriorityOption = None,
    fresh: Fresh = False,
    as_json: AsJson = False,
    svg: Svg = None,
    report: ReportFile = None,
    csv: CsvFile = None,
) -> None:
    """Compare the arms of a suite: uwsgi.ini files, and other servers under the same app.

    If the command was stopped, the same command goes on where it was.
    """
    from tuner.cli import asking, compared, following, own_service, suites

    chosen = suites.suite_of(suite, only or (), rounds, keep_alive=keep_alive)
    request = asking.given(**chosen | {"pool": pool, "priority": priority})
    tuning = suites.tuning_of(request, tune, preset, space) if tune else None
    written = compared.Written.of(svg, report, csv)
    with own_service.reached() as (client, runs_on):
        run = partial(following.run, client, runs_on=runs_on, quiet=as_json, goes_on=not fresh)
        if tune and tuning:
            job = run(tuning, max_age_days=TUNED_WITHIN_DAYS)
            check_succeeded(job)
            request = _with_tuned(request, tune, client.recommendation(job.id))
        job = run(request)
        written.write(client, job)
    compared.show(job, as_json=as_json)


def _with_tuned(request: "Json", arm: str, found: "RecommendationAnswer") -> "Json":
    """The request with the file that was found for an arm; unchanged where none is better."""
    from tuner.cli import printing, suites

    say(f"{arm}: {printing.headline(found)}")
    if not found.lines:
        return request
    box = box_of(found.circumstances.limits, found.lines)
    return suites.with_tuned(request, arm, found.uwsgi_ini, box.model_dump(mode="json"))
