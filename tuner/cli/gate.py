"""`tuner gate`: a step of a pipeline that checks the recommended file on a new image."""

import re
from typing import Annotated

import typer

from tuner.cli.recommending import compare, report, stale_is_not_found
from tuner.cli.shared import AppName, AsJson, Check, MaxAgeDays, print_answer, say, text_of
from tuner.nouns.errors import InvalidInput

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def gate(
    app: AppName,
    image: Annotated[str, typer.Option(help="The new image.")],
    budget: Annotated[
        str, typer.Option(help="Time to measure: 90s, 5m, 1h. Never less than 4 blocks.")
    ] = "5m",
    margin: Annotated[
        str, typer.Option(help="Accepted loss of the recommended file: 2% or 0.02.")
    ] = "2%",
    p95_margin: Annotated[str, typer.Option(help="Accepted rise of its p95 latency.")] = "5%",
    check: Check = None,
    max_age_days: MaxAgeDays = None,
    allow_inconclusive: Annotated[
        bool,
        typer.Option("--allow-inconclusive", help="Exit with 0 if the result is inconclusive."),
    ] = False,
    pool: Annotated[
        str | None, typer.Option(help="The pool that measures [default: the pool of the job].")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the recommended file against your own on a new image: does it still hold?

    Exit code 0: it holds. 1: it does not hold, or the result is inconclusive. 2: there is no such
    image. 3: no recommendation, or too old. 4: no confirmed answer, or the job was cancelled.
    5: the host failed.
    """
    from tuner.cli import following, gating
    from tuner.judge.recommendation.gate import Margins
    from tuner.judge.recommendation.verdict import Outcome
    from tuner.nouns.model import Checker

    margins = Margins(effect=_share("--margin", margin), p95=_share("--p95-margin", p95_margin))
    budget_s = _seconds(budget)
    deployed = None if check is None else text_of(check)
    with following.reached() as (client, runs_on):
        with stale_is_not_found():
            found = client.recommendation(app, max_age_days=max_age_days)
        if check is not None and deployed is not None:
            compare(client, check, deployed, found, found.uwsgi_ini, as_json=as_json)
        request = gating.request_of(found, image, budget_s, pool)
        if not as_json:
            say("\n".join(gating.plan_lines(found, request, margins)))
        job = following.run(client, request, runs_on=runs_on, quiet=as_json)
        judged = gating.judge(job, found, margins)
        if judged.outcome is not Outcome.INCONCLUSIVE:
            holds, said = judged.outcome is Outcome.HOLDS, f"{image}: {judged.sentence}"
            report(client, found, Checker.GATE, holds=holds, said=said)
    answer = gating.answer_document(judged, job, found, image, margins)
    print_answer(answer, gating.answer_lines(judged, job, found), as_json=as_json)
    passing = {Outcome.HOLDS, Outcome.INCONCLUSIVE} if allow_inconclusive else {Outcome.HOLDS}
    if judged.outcome not in passing:
        raise typer.Exit(1)


def _share(option: str, text: str) -> float:
    """`2%`, `2 %` or `0.02`. Raises `InvalidInput`."""
    number, percent, _ = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise InvalidInput.at(option, f"{text!r} is not a share like 2% or 0.02")
    return share


def _seconds(text: str) -> float:
    """`90s`, `5m` or `1h`. Raises `InvalidInput`."""
    match = re.fullmatch(r"(\d{1,5}(?:\.\d{1,3})?)([smh])", text.strip())
    if match is None:
        raise InvalidInput.at("--budget", f"{text!r} is not a time like 90s, 5m or 1h")
    return float(match[1]) * _SECONDS[match[2]]
