"""`tuner capacity`: the highest rate of Poisson arrivals that keeps a latency limit."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.asking import Json
from tuner.cli.shared import (
    AsJson,
    Cpus,
    Fresh,
    Pool,
    PriorityOption,
    ReportFile,
    print_json,
    say,
    write_text,
)
from tuner.nouns.errors import InvalidInput

if TYPE_CHECKING:
    from tuner.nouns.schemas import ReportAnswer

SPARE = 1

_LIMIT = re.compile(r"(p50|p95|p99)\s*=\s*([0-9.]+)\s*(ms|s)")


def limit_of(limit: str, errors: str) -> Json:
    """The document of `p95=200ms` and `0.1%`. Raises `InvalidInput`."""
    found = _LIMIT.fullmatch(limit.strip())
    if found is None or _number(found[2]) is None:
        raise InvalidInput.at("--limit", f"{limit!r} is not like p95=200ms (p50, p95 or p99)")
    share = _number(errors.strip().removesuffix("%").strip())
    if share is None:
        raise InvalidInput.at("--errors", f"{errors!r} is not like 0.1% or 0.001")
    scale = 100 if errors.strip().endswith("%") else 1
    ms = float(found[2]) * (1000 if found[3] == "s" else 1)
    return {f"latency_{found[1]}_ms": ms, "error_rate": share / scale}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def instances(rate_rps: float, rps: float) -> int:
    """Boxes that carry a rate together, and one that may be lost."""
    return math.ceil(rate_rps / rps) + SPARE


def instance_lines(report: "ReportAnswer", rate_rps: float) -> Iterator[str]:
    """How many boxes of each file a rate needs, by the lower end of the interval."""
    for arm in report.arms:
        if arm.capacity is not None and arm.capacity.ci_low:
            number = instances(rate_rps, arm.capacity.ci_low)
            yield (
                f"{arm.name}: {rate_rps:g} requests/s need {number} such boxes, of which one may be"
                " lost (by the lower end of the interval)"
            )


def capacity(  # long: Typer reads the options from here
    app: Annotated[
        str, typer.Argument(metavar="APP", help="The name of a target app, or a Docker image.")
    ],
    limit: Annotated[
        str, typer.Option(metavar="P=TIME", help="The limit: p95=200ms; also p50, p99, and s.")
    ],
    errors: Annotated[
        str, typer.Option(metavar="SHARE", help="Largest share of failed requests.")
    ] = "0.1%",
    instances_for: Annotated[
        float | None, typer.Option(min=0.001, metavar="RPS", help="Say how many boxes carry this.")
    ] = None,
    ini: Annotated[
        list[Path] | None, typer.Option(help="A uwsgi.ini. Repeat it to compare with the first.")
    ] = None,
    blocks: Annotated[int, typer.Option(min=1, help="Fresh starts of each file.")] = 1,
    keep_alive: Annotated[bool, typer.Option("--keep-alive", help="Reuse connections.")] = False,
    path: Annotated[list[str] | None, typer.Option(help="A path to request. Repeatable.")] = None,
    cpus: Cpus = None,
    memory_mb: Annotated[int | None, typer.Option(help="Memory limit, in MB.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of an image [8000].")] = None,
    health_path: Annotated[
        str | None, typer.Option(help="Path that answers 200 when an image is ready [/].")
    ] = None,
    pool: Pool = None,
    priority: PriorityOption = None,
    fresh: Fresh = False,
    as_json: AsJson = False,
    report: ReportFile = None,
) -> None:
    """Find the highest rate of Poisson arrivals within a latency limit, for one file or several.

    The requests are those of the app, or of --path. One file takes about four minutes with a limit
    of 200 ms. The host needs k6 (`make journeys`).
    """
    from tuner.cli import asking, following, tables
    from tuner.cli.jobs import check_succeeded, form_of
    from tuner.client import document_of

    wanted = limit_of(limit, errors)
    form = None if report is None else form_of(report)
    files = asking.inis_of(ini or ())
    with following.reached() as (client, runs_on):
        apps = document_of(client.target_apps())
        known = apps.get(app, {})
        base = known.get("workload") or {}
        requests = [{"path": each} for each in path] if path else base.get("requests")
        workload = asking.given(kind="capacity", limit=wanted, requests=requests)
        request = asking.given(
            kind="compare",
            target=asking.target_of(app, apps, port, health_path),
            arms=files or None,
            limits=asking.limits_of(known.get("limits"), cpus=cpus, memory_mb=memory_mb),
            workload=workload | {"keep_alive": keep_alive or base.get("keep_alive", False)},
            blocks=blocks,
            pool=pool,
            priority=priority,
        )
        job = following.run(client, request, runs_on=runs_on, quiet=as_json, goes_on=not fresh)
        if report is not None and form is not None and job.report is not None:
            write_text("--report", report, client.report(job.id, form))
            say(f"report: {report}")
    if as_json:
        print_json(job)
    elif job.report is not None:
        tables.show(tables.comparison_parts(job, job.report))
        if instances_for is not None:
            tables.show(instance_lines(job.report, instances_for))
    check_succeeded(job)
