"""`tuner measure` and `tuner calibrate`: figures with intervals and doubts, without tuning."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.asking import Json, fit, names_of
from tuner.cli.ini import changes_of
from tuner.cli.jobs import check_succeeded
from tuner.cli.options import why_missing
from tuner.cli.shared import (
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
    print_json,
    text_of,
)
from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import BOX_SIZES, MOST_ARMS, Danger
from tuner.uwsgi.ini import IniFile, canonical
from tuner.uwsgi.options import known

# ---- `--step` and `--vary` of `tuner measure` → files: each builds on the one before, or a grid

Levels = Mapping[str, Sequence[str]]
"""Values of each option or limit that a grid varies."""


def check_one_way(inis: Sequence[Path], steps: Sequence[str], vary: Sequence[str]) -> None:
    """Raise `InvalidInput` if files are named in two ways."""
    if steps and (inis or vary):
        other = "--ini" if inis else "--vary"
        raise InvalidInput.at("--step", f"excludes {other}: the first step names the file")
    if vary and len(inis) > 1:
        raise InvalidInput.at("--vary", "varies one file: give one --ini")


def steps_of(steps: Sequence[str]) -> list[Json]:
    """Name and text of each step's file. Raises `InvalidInput` with every mistake."""
    names = iter(names_of([Path(step) for step in steps if not _is_change(step)]))
    found: list[Json] = []
    mistakes: list[Mistake] = []
    for step in steps:
        before = found[-1]["ini"] if found else None
        name, text = fit(step) if _is_change(step) else next(names), before or ""
        try:
            text = _changed(step, before) if _is_change(step) else text_of(step)
        except InvalidInput as error:
            mistakes += error.mistakes
        if any(own["name"] == name for own in found):
            mistakes.append(Mistake(f"--step {step}", f"is there twice: two steps named {name}"))
        found.append({"name": name, "ini": text})
    if mistakes:
        raise InvalidInput(mistakes)
    return found


def _is_change(step: str) -> bool:
    return step.startswith("+")


def _changed(step: str, before: str | None) -> str:
    """The file before with the changes of a step. Raises `InvalidInput` with every mistake."""
    ini, settings = IniFile.parse(before or ""), step.removeprefix("+").split(",")
    mistakes: list[Mistake] = []
    text = ""
    if before is None:
        mistakes.append(Mistake(f"--step {step}", "has no file before it: begin with a file"))
    for setting in settings:
        name, equals, _ = (part.strip() for part in setting.partition("="))
        # A file may have names of its own, as in processes = %(slots).
        if equals and known().find(name) is None and ini.get(name) is None:
            mistakes.append(Mistake(f"--step +{setting}", why_missing(known(), name)))
    try:
        text = ini.patch(changes_of(settings, "--step +")).dump()
    except InvalidInput as error:
        mistakes += error.mistakes
    if mistakes:
        raise InvalidInput(mistakes)
    return text


def levels_of(vary: Sequence[str]) -> Levels:
    """The values to vary, by name. Raises `InvalidInput` with every mistake."""
    levels: dict[str, list[str]] = {}
    mistakes: list[Mistake] = []
    for given in vary:
        name, equals, values = (part.strip() for part in given.partition("="))
        of_name = [value.strip() for value in values.split(",")]
        wrong = [*_wrong(name, of_name)] if name and equals else ["is not NAME=VALUE,VALUE"]
        if canonical(name) in map(canonical, levels):
            wrong.append(f"varies {name} a second time")
        mistakes += [Mistake(f"--vary {given}", why) for why in wrong]
        levels[name] = of_name
    count = math.prod(map(len, levels.values()))
    if count > MOST_ARMS and not mistakes:
        mistakes.append(Mistake("--vary", f"makes {count} files; at most {MOST_ARMS} are measured"))
    if mistakes:
        raise InvalidInput(mistakes)
    return levels


def _wrong(name: str, values: Sequence[str]) -> Iterator[str]:
    if len(values) < 2:
        yield "has one value: give two or more, as in processes=2,4,8"
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        yield f"has a value twice: {', '.join(twice)}"
    if name in BOX_SIZES:
        yield from (f"{value!r} is no number" for value in values if _number(value) is None)
        return
    if known().find(name) is None:
        yield why_missing(known(), name)
        return
    for value in values:
        try:
            changes_of([f"{name}={value}"], "")
        except InvalidInput as error:
            yield from (mistake.message for mistake in error.mistakes)


def _number(text: str) -> float | None:
    """A size of a box; None where the text is none."""
    if not text.replace(".", "", 1).isdecimal():
        return None
    return int(text) if text.isdecimal() else float(text)


def own_ini(known: Json) -> str:
    """The file of a target app. Raises `InvalidInput` for an image, whose file nobody knows."""
    if "uwsgi_ini" not in known:
        raise InvalidInput.at("--vary", "an image does not tell what its file is: give --ini")
    return str(known["uwsgi_ini"])


def grid_of(levels: Levels, base: str, limits: Json | None) -> list[Json]:
    """Name, text and box of every combination, made from the text of one file."""
    ini, found = IniFile.parse(base), []
    for values in product(*levels.values()):
        chosen = dict(zip(levels, values, strict=True))
        box = {name: _number(value) for name, value in chosen.items() if name in BOX_SIZES}
        changes = {name: value for name, value in chosen.items() if name not in BOX_SIZES}
        name = fit(",".join(f"{name}={value}" for name, value in chosen.items()))
        file = {"name": name, "ini": ini.patch(changes).dump()}
        found.append(file | ({"limits": {**(limits or {}), **box}} if box else {}))
    return found


def measure(  # long: Typer reads the options from here
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
    from tuner.cli import asking, compare, following
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
    check_one_way(ini or (), step or (), vary or ())
    inis = steps_of(step) if step else asking.inis_of(ini or ())
    levels = levels_of(vary or ())
    written = compare.Written.of(svg, report, csv)
    with following.reached() as (client, runs_on):
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
            base = inis[0]["ini"] if inis else own_ini(known)
            inis = grid_of(levels, base, limits or known.get("limits"))
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
    compare.show(job, as_json=as_json)


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
    from tuner.cli import asking, following, tables

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
    with following.reached() as (client, runs_on):
        job = following.run(client, request, runs_on=runs_on, quiet=as_json)
    if as_json:
        print_json(job)
    elif job.calibration is not None:
        tables.show(tables.calibration_parts(job, job.calibration))
    check_succeeded(job)
