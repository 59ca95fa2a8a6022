"""`tuner measure` and `tuner calibrate`: figures with intervals and doubts, without tuning."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tuner.cli.commands import AsJson, end_of
from tuner.cli.running import run
from tuner.errors import InvalidInput, Mistake
from tuner.model import Danger

Json = dict[str, Any]
Pool = Annotated[str | None, typer.Option(help="The set of like hosts to measure on.")]
Blocks = Annotated[int, typer.Option(help="Fresh starts of every file; 4 or more for effects.")]
WindowS = Annotated[float | None, typer.Option(help="Seconds of load in one window.")]
WarmupS = Annotated[float | None, typer.Option(help="Seconds of load before the first window.")]
Cycles = Annotated[int | None, typer.Option(help="Windows of each file in one block.")]


def measure(
    app: Annotated[str, typer.Argument(help="A target app's name, or an image.")],
    ini: Annotated[
        list[Path] | None,
        typer.Option(help="A uwsgi.ini to measure; again for each that it is compared with."),
    ] = None,
    blocks: Blocks = 8,
    cycles: Cycles = None,
    window_s: WindowS = None,
    warmup_s: WarmupS = None,
    concurrency: Annotated[
        int | None, typer.Option(help="A closed loop of so many connections.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="So many requests fall due a second.")] = None,
    burst: Annotated[int | None, typer.Option(help="So many users start at one instant.")] = None,
    ladder: Annotated[
        str | None, typer.Option(help="Closed loops one after the other: 100,1000,10000.")
    ] = None,
    limit_s: Annotated[
        float | None, typer.Option(help="A user's request must be answered within this.")
    ] = None,
    keep_alive: Annotated[bool, typer.Option("--keep-alive", help="Reuse connections.")] = False,
    path: Annotated[list[str] | None, typer.Option(help="What to ask for; may repeat.")] = None,
    urls: Annotated[
        Path | None, typer.Option(help="A file of them: one path or URL a line.")
    ] = None,
    cpus: Annotated[float | None, typer.Option(help="CPU quota of the target, in cores.")] = None,
    memory_mb: Annotated[int | None, typer.Option(help="Memory limit of the target.")] = None,
    somaxconn: Annotated[int | None, typer.Option(help="net.core.somaxconn of the target.")] = None,
    port: Annotated[int | None, typer.Option(help="Of an image: where it serves [8000].")] = None,
    health_path: Annotated[
        str | None, typer.Option(help="Of an image: answers 200 once it is ready [/].")
    ] = None,
    min_effect: Annotated[
        float | None, typer.Option(help="Smallest difference that matters, as in 0.02.")
    ] = None,
    allow: Annotated[
        list[Danger] | None,
        typer.Option(help="What options of the files may do besides serving; may repeat."),
    ] = None,
    pool: Pool = None,
    as_json: AsJson = False,
    svg: Annotated[Path | None, typer.Option(help="Also draw two charts into this file.")] = None,
) -> None:
    """Measure one uwsgi.ini, or compare several in interleaved blocks."""
    from tuner.cli import asking, own_service, printing, tables
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
    inis = asking.inis_of(ini or ())
    _check_can_write(svg)
    with own_service.reached() as (client, goes_on):
        apps = document_of(client.target_apps())
        known = apps.get(app, {})
        document = _given(
            kind="compare",
            target=asking.target_of(app, apps, port, health_path),
            inis=inis or None,
            limits=asking.limits_of(
                known.get("limits"), cpus=cpus, memory_mb=memory_mb, somaxconn=somaxconn
            ),
            workload=asking.workload_of(known.get("workload"), load),
            blocks=blocks,
            cycles=cycles,
            window_s=window_s,
            warmup_s=warmup_s,
            min_effect=min_effect,
            allow=[danger.value for danger in allow or ()] or None,
            pool=pool,
        )
        job: Json = document_of(run(client, document, goes_on=goes_on, quiet=as_json))
        if svg is not None and job["report"] is not None:
            _draw(svg, job["report"], document_of(client.windows(job["id"])))
    if as_json:
        typer.echo(json.dumps(job, indent=2))
    elif job["report"] is not None:
        tables.show(*tables.measurement_parts(job), *printing.left_out_lines(job))
    end_of(job)


def calibrate(
    target: Annotated[str, typer.Option(help="A target app's name.")] = "mixed",
    blocks: Blocks = 8,
    cycles: Cycles = None,
    window_s: WindowS = None,
    warmup_s: WarmupS = None,
    pool: Pool = None,
    as_json: AsJson = False,
) -> None:
    """Measure one file against itself: what this host can tell apart, and in which time."""
    from tuner.cli import own_service, tables
    from tuner.client import document_of

    document = _given(
        kind="calibrate",
        target={"target_app": target},
        blocks=blocks,
        cycles=cycles,
        window_s=window_s,
        warmup_s=warmup_s,
        pool=pool,
    )
    with own_service.reached() as (client, goes_on):
        job: Json = document_of(run(client, document, goes_on=goes_on, quiet=as_json))
    if as_json:
        typer.echo(json.dumps(job, indent=2))
    elif job["calibration"] is not None:
        tables.show(*tables.calibration_parts(job))
    end_of(job)


def _given(**fields: Any) -> Json:
    """A request: what was not said is left to the service."""
    return {name: value for name, value in fields.items() if value is not None}


def _check_can_write(file: Path | None) -> None:
    """Say it before minutes are spent. Raises `InvalidInput`."""
    if file is not None and not file.absolute().parent.is_dir():
        raise InvalidInput([Mistake("--svg", f"there is no folder {file.absolute().parent}")])


def _draw(file: Path, report: Json, raw: Json) -> None:
    """Both charts into one file. Raises `InvalidInput` where it cannot be written."""
    from tuner import charts
    from tuner.model import Doubt, Histogram

    dots: dict[str, list[charts.Dot]] = {name: [] for name in raw["files"]}
    for window in raw["windows"]:
        dot = charts.Dot(
            at=datetime.fromisoformat(window["started_at"]),
            rps=window["throughput_rps"],
            block=window["block"],
            is_void=any(Doubt(doubt).voids for doubt in window["doubts"]),
        )
        dots[raw["files"][window["trial"]]].append(dot)
    latencies = {
        arm["name"]: Histogram({int(bucket): n for bucket, n in arm["latency"]["counts"].items()})
        for arm in report["arms"]
    }
    drawn = charts.stacked(charts.windows_over_time(dots), charts.latency_percentiles(latencies))
    try:
        file.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise InvalidInput([Mistake("--svg", f"{file}: {error.strerror}")]) from error
    typer.echo(f"charts: {file}", err=True)
