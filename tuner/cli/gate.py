"""`tuner gate`: does the recommended file still hold for a new image? A step of a pipeline."""

import json
import re
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.commands import AsJson
from tuner.cli.recommending import Check, MaxAgeDays, compare, none_if_stale, text_of
from tuner.cli.running import run
from tuner.errors import InvalidInput, Mistake

if TYPE_CHECKING:
    from tuner.recommendation.gate import Judged, Margins

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def gate(
    app: Annotated[str, typer.Argument(help="The app's name in its jobs.")],
    image: Annotated[str, typer.Option(help="The image that is to be released.")],
    budget: Annotated[
        str, typer.Option(help="How long to measure: 90s, 5m, 1h; but 4 blocks at least.")
    ] = "5m",
    margin: Annotated[
        str, typer.Option(help="What the recommended file may be worse by: 2% or 0.02.")
    ] = "2%",
    p95_margin: Annotated[str, typer.Option(help="What its p95 may be longer by.")] = "5%",
    check: Check = None,
    max_age_days: MaxAgeDays = None,
    allow_inconclusive: Annotated[
        bool, typer.Option("--allow-inconclusive", help="Exit with 0 where nothing can be told.")
    ] = False,
    pool: Annotated[
        str | None, typer.Option(help="Who is to measure, if not the job's own pool.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the recommended file against your own on a new image, and say whether it holds."""
    from tuner.cli import gating, own_service

    margins = _margins(margin, p95_margin)
    budget_s = _seconds(budget)
    deployed = None if check is None else text_of(check)
    with own_service.reached() as (client, goes_on):
        with none_if_stale():
            found = client.app_recommendation(app, max_age_days=max_age_days)
        if check is not None and deployed is not None:
            compare(check, deployed, found, found.uwsgi_ini, as_json=as_json)
        request = gating.request_of(found, image, budget_s, pool)
        if not as_json:
            typer.echo("\n".join(gating.plan_lines(found, request, margins)), err=True)
        measured = run(client, request, goes_on=goes_on, quiet=as_json)
    judged = gating.judge(measured, found, margins)
    if as_json:
        document = gating.answer_document(judged, measured, found, image, margins)
        typer.echo(json.dumps(document, indent=2))
    else:
        typer.echo("\n".join(gating.answer_lines(judged, measured, found)))
    if not _passes(judged, allow_inconclusive=allow_inconclusive):
        raise typer.Exit(1)


def _margins(margin: str, p95_margin: str) -> "Margins":
    from tuner.recommendation.gate import Margins

    return Margins(effect=_share("--margin", margin), p95=_share("--p95-margin", p95_margin))


def _share(option: str, text: str) -> float:
    """`2%`, `2 %` or `0.02`. Raises `InvalidInput`."""
    number, percent, _ = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise InvalidInput([Mistake(option, f"{text!r} is no share such as 2% or 0.02")])
    return share


def _seconds(text: str) -> float:
    """`90s`, `5m` or `1h`. Raises `InvalidInput`."""
    match = re.fullmatch(r"(\d{1,5}(?:\.\d{1,3})?)([smh])", text.strip())
    if match is None:
        raise InvalidInput([Mistake("--budget", f"{text!r} is no time such as 90s, 5m or 1h")])
    return float(match[1]) * _SECONDS[match[2]]


def _passes(judged: "Judged", *, allow_inconclusive: bool) -> bool:
    from tuner.recommendation.bounds import Outcome

    unknown = judged.outcome is Outcome.INCONCLUSIVE
    return judged.outcome is Outcome.HOLDS or (unknown and allow_inconclusive)
