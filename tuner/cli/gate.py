"""`tuner gate`: a step of a pipeline that checks the recommended file on a new image."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from tuner.cli.answers import Given
from tuner.cli.answers import deployed as deployed_file
from tuner.cli.printing import error_lines
from tuner.cli.recommend import compare, report, stale_is_not_found
from tuner.cli.shared import (
    AppName,
    AsJson,
    Check,
    Container,
    Deployment,
    MaxAgeDays,
    Namespace,
    print_answer,
    say,
)
from tuner.judge.recommendation import gate as rules
from tuner.nouns.errors import Conflict, InvalidInput, Unavailable
from tuner.nouns.model import CompareRequest, FailureCode, TargetRequest, Variant, box_of, rungs
from tuner.nouns.schemas import JobAnswer, RecommendationAnswer
from tuner.nouns.wording import duration, effect_with_interval, share

# ---- The request of `tuner gate`, its plan, and the answer

MOST_BLOCKS = 256  # of one comparison
BLOCKS_TO_RUN = 4  # if there is nothing to compare


def request_of(
    found: RecommendationAnswer, image: str, budget_s: float, pool: str | None = None
) -> CompareRequest:
    """The job's circumstances on another image: the user's file first, then the recommended one.

    If the two are equal, the request has one file and only the blocks that show that it runs. Both
    run with the kernel settings that were recommended: a gate compares files.
    """
    asked = found.circumstances
    how = TargetRequest.model_fields.keys() - {"target_app", "image"}
    kept = ("workload", "cycles", "window_s", "warmup_s", "min_effect")
    inis = (
        Variant(name="own.ini", ini=asked.baseline_ini),
        Variant(name="recommended.ini", ini=found.uwsgi_ini),
    )
    is_one = asked.baseline_ini == found.uwsgi_ini
    most = BLOCKS_TO_RUN if is_one else MOST_BLOCKS
    return CompareRequest(
        app=found.app,
        target=TargetRequest(image=image, **{name: getattr(asked.target, name) for name in how}),
        arms=inis[1:] if is_one else inis,
        blocks=rules.fitting_blocks(budget_s, block_s(found), at_most=most),
        limits=box_of(asked.limits, found.lines),
        allow=tuple(asked.allow),
        pool=pool or asked.pool,
        **{name: getattr(asked, name) for name in kept},
    )


def block_s(found: RecommendationAnswer) -> float:
    """Seconds of one block of two files, with its starts; of a ladder each rung has its own."""
    asked = found.circumstances
    count = len(rungs(asked.workload))
    start_s = 2 * (asked.target.start_s + asked.warmup_s)
    if found.calibration is not None and found.calibration.block_s is not None:
        return found.calibration.block_s + (count - 1) * start_s
    return count * (start_s + 2 * asked.cycles * asked.window_s)


def plan_lines(
    found: RecommendationAnswer, request: CompareRequest, margins: rules.Margins
) -> Iterator[str]:
    """What the gate measures, and the margin that the blocks resolve."""
    if found.measure_again is not None:
        yield f"the answer of job {found.job} was {found.measure_again}"
    if len(request.arms) == 1:
        yield f"job {found.job} recommends your own file: the gate only checks that it runs"
        return
    yield f"your own file against the recommendation of job {found.job}: {request.blocks} blocks"
    if found.calibration is None:
        return
    sd = found.calibration.block_sd
    resolved = rules.resolved_margin(sd, request.blocks)
    yield f"smallest margin that these blocks resolve: {share(resolved)}"
    if resolved > margins.effect:
        needed = rules.needed_blocks(sd, margins.effect, at_most=MOST_BLOCKS)
        budget = "no budget is" if needed is None else f"{duration(needed * block_s(found))} are"
        yield f"too few blocks for a margin of {share(margins.effect)}: {budget} enough"


def judge(ended: JobAnswer, found: RecommendationAnswer, margins: rules.Margins) -> rules.Judged:
    """The answer of a comparison that has ended.

    Some ends say nothing about the file. Raises `Unavailable` if the host failed, `Conflict` if
    the job was cancelled, and `InvalidInput` if there is no such image.
    """
    if ended.report is not None:
        return rules.judge(ended.report, found.circumstances, ended.metric, margins)
    error = ended.failure
    if error is None:
        raise Conflict(f"job {ended.id} was {ended.state}")
    if error.code is FailureCode.IMAGE_MISSING:
        raise InvalidInput.at("--image", error.message)
    if error.code in (FailureCode.INFRASTRUCTURE, FailureCode.INTERNAL):
        raise Unavailable("the benchmark host", error.message)
    return rules.unmeasured(error, len(ended.files or ()))


def answer_lines(
    judged: rules.Judged, job: JobAnswer, found: RecommendationAnswer
) -> Iterator[str]:
    """The outcome, its evidence, and the last log lines of a file that did not run."""
    yield f"{judged.outcome.replace('_', ' ')}: {judged.sentence}"
    if judged.effect is not None:
        yield f"{effect_with_interval(judged.effect)}, {judged.blocks} interleaved blocks"
    if found.effect is not None:
        yield f"in job {found.job}: {effect_with_interval(found.effect)}"
    for arm in job.report.arms if job.report is not None else ():
        if arm.failure is not None:
            yield from list(error_lines(arm.failure))[1:]
        yield from (f"doubt: {arm.name}: {doubt.sentence}" for doubt in arm.doubts)


def answer_document(
    judged: rules.Judged,
    job: JobAnswer,
    found: RecommendationAnswer,
    image: str,
    margins: rules.Margins,
) -> dict[str, Any]:
    """The same as JSON; /v1/jobs has the rest under the number `comparison`."""
    return {
        "app": found.app,
        "image": image,
        "outcome": judged.outcome,
        "sentence": judged.sentence,
        "measure_again": found.measure_again,
        "effect": judged.effect,
        "blocks": judged.blocks,
        "margins": {
            "effect": margins.effect,
            "latency_p95_ms": margins.p95,
            "error_rate": margins.errors,
        },
        "job": found.job,
        "comparison": job.id,
    }


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def gate(  # long: Typer reads the options from here
    app: AppName,
    image: Annotated[str, typer.Option(help="The new image.")],
    time: Annotated[
        str, typer.Option(help="Time to measure: 90s, 5m, 1h. Never less than 4 blocks.")
    ] = "5m",
    margin: Annotated[
        str, typer.Option(help="Accepted loss of the recommended file: 2% or 0.02.")
    ] = "2%",
    p95_margin: Annotated[str, typer.Option(help="Accepted rise of its p95 latency.")] = "5%",
    check: Check = None,
    deployment: Deployment = None,
    container: Container = None,
    namespace: Namespace = "",
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
    from tuner.cli import following
    from tuner.judge.recommendation.gate import Margins
    from tuner.judge.recommendation.verdict import Outcome
    from tuner.nouns.model import Checker

    margins = Margins(effect=_share("--margin", margin), p95=_share("--p95-margin", p95_margin))
    budget_s = _seconds(time)
    given = Given(deployment=deployment, container=container, namespace=namespace)
    deployed = None if check is None else deployed_file(check, given)
    with following.reached() as (client, runs_on):
        with stale_is_not_found():
            found = client.recommendation(app, max_age_days=max_age_days)
        if deployed is not None:
            compare(client, deployed, found, found.uwsgi_ini, as_json=as_json)
        request = request_of(found, image, budget_s, pool)
        if not as_json:
            say("\n".join(plan_lines(found, request, margins)))
        job = following.run(client, request, runs_on=runs_on, quiet=as_json)
        judged = judge(job, found, margins)
        if judged.outcome is not Outcome.INCONCLUSIVE:
            holds, said = judged.outcome is Outcome.HOLDS, f"{image}: {judged.sentence}"
            report(client, found, Checker.GATE, holds=holds, said=said)
    answer = answer_document(judged, job, found, image, margins)
    print_answer(answer, answer_lines(judged, job, found), as_json=as_json)
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
        raise InvalidInput.at("--time", f"{text!r} is not a time like 90s, 5m or 1h")
    return float(match[1]) * _SECONDS[match[2]]
