"""`tuner measure` and `tuner calibrate`: figures with intervals and doubts, without tuning."""

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.arguments import (
    AsJson,
    Blocks,
    Cpus,
    CsvFile,
    Cycles,
    Fresh,
    Nofile,
    Pool,
    PriorityOption,
    ReportFile,
    Somaxconn,
    Svg,
    Sysctl,
    WarmupS,
    WindowS,
)
from tuner.cli.jobs import check_succeeded
from tuner.cli.output import print_json
from tuner.nouns.model import Danger


def measure(
    app: Annotated[
        str, typer.Argument(metavar="APP", help="The name of a target app, or a Docker image.")
    ],
    ini: Annotated[
        list[Path] | None,
        typer.Option(help="A uwsgi.ini to measure. Repeat it to compare files with the first."),
    ] = None,
    step: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STEP",
            help="A uwsgi.ini, or +OPTION=VALUE,... to change the step before. Repeat it to measure"
            " each step against the one before.",
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE,...",
            help="Values of an option, or of cpus or memory_mb. Repeat it to measure all"
            " combinations.",
        ),
    ] = None,
    blocks: Blocks = 8,
    cycles: Cycles = None,
    window_s: WindowS = None,
    warmup_s: WarmupS = None,
    concurrency: Annotated[
        int | None, typer.Option(help="Closed loop: the number of connections.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Open loop: requests per second.")] = None,
    burst: Annotated[int | None, typer.Option(help="Burst: users who start at once.")] = None,
    ladder: Annotated[
        str | None, typer.Option(help="Closed loops in turn: 100,1000,10000 connections.")
    ] = None,
    limit_s: Annotated[
        float | None, typer.Option(help="Time limit of a user's request, in seconds.")
    ] = None,
    keep_alive: Annotated[bool, typer.Option("--keep-alive", help="Reuse connections.")] = False,
    path: Annotated[list[str] | None, typer.Option(help="A path to request. Repeatable.")] = None,
    urls: Annotated[
        Path | None, typer.Option(help="A file with one path or URL on each line.")
    ] = None,
    cpus: Cpus = None,
    memory_mb: Annotated[int | None, typer.Option(help="Memory limit, in MB.")] = None,
    somaxconn: Somaxconn = None,
    nofile: Nofile = None,
    sysctl: Sysctl = None,
    port: Annotated[int | None, typer.Option(help="Port of an image [8000].")] = None,
    health_path: Annotated[
        str | None, typer.Option(help="Path that answers 200 when an image is ready [/].")
    ] = None,
    min_effect: Annotated[
        float | None, typer.Option(help="Smallest difference that matters, for example 0.02.")
    ] = None,
    allow: Annotated[
        list[Danger] | None,
        typer.Option(help="Allow options of the files to do this. Repeatable."),
    ] = None,
    pool: Pool = None,
    priority: PriorityOption = None,
    fresh: Fresh = False,
    as_json: AsJson = False,
    svg: Svg = None,
    report: ReportFile = None,
    csv: CsvFile = None,
) -> None:
    """Measure one uwsgi.ini, or compare several in interleaved blocks.

    If the command was stopped, the same command goes on where it was.
    """
    from tuner.cli import arms, asking, compared, following, own_service
    from tuner.client import document_of

    load = asking.Load(
        concurrency=concurrency,
        rate=rate,
        burst=burst,
        ladder=ladder,
        limit_s=limit_s,
        keep_alive=keep_alive,
        paths=path or (),
        urls=urls,
    )
    arms.check_one_way(ini or (), step or (), vary or ())
    inis = arms.steps_of(step) if step else asking.inis_of(ini or ())
    levels = arms.levels_of(vary or ())
    written = compared.Written.of(svg, report, csv)
    with own_service.reached() as (client, runs_on):
        apps = document_of(client.target_apps())
        known = apps.get(app, {})
        limits = asking.limits_of(
            known.get("limits"),
            sysctl or (),
            cpus=cpus,
            memory_mb=memory_mb,
            somaxconn=somaxconn,
            nofile=nofile,
        )
        if levels:
            base = inis[0]["ini"] if inis else arms.own_ini(known)
            inis = arms.grid_of(levels, base, limits or known.get("limits"))
        request = asking.given(
            kind="compare",
            target=asking.target_of(app, apps, port, health_path),
            arms=inis or None,
            compare_with="previous" if step else None,
            vary=list(levels) or None,
            limits=limits,
            workload=asking.workload_of(known.get("workload"), load),
            blocks=blocks,
            cycles=cycles,
            window_s=window_s,
            warmup_s=warmup_s,
            min_effect=min_effect,
            allow=allow or None,
            pool=pool,
            priority=priority,
        )
        job = following.run(client, request, runs_on=runs_on, quiet=as_json, goes_on=not fresh)
        written.write(client, job)
    compared.show(job, as_json=as_json)


def calibrate(
    target: Annotated[str, typer.Option(help="The name of a target app.")] = "mixed",
    blocks: Blocks = 8,
    cycles: Cycles = None,
    window_s: WindowS = None,
    warmup_s: WarmupS = None,
    pool: Pool = None,
    priority: PriorityOption = None,
    as_json: AsJson = False,
) -> None:
    """Measure one file against itself: the noise of a host, and the effects that it can detect."""
    from tuner.cli import asking, following, own_service, tables

    request = asking.given(
        kind="calibrate",
        target={"target_app": target},
        blocks=blocks,
        cycles=cycles,
        window_s=window_s,
        warmup_s=warmup_s,
        pool=pool,
        priority=priority,
    )
    with own_service.reached() as (client, runs_on):
        job = following.run(client, request, runs_on=runs_on, quiet=as_json)
    if as_json:
        print_json(job)
    elif job.calibration is not None:
        tables.show(tables.calibration_parts(job, job.calibration))
    check_succeeded(job)
