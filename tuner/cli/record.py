"""`tuner record`: a landscape, every configuration of a grid on real containers.

Searches are replayed on it without containers. The command needs no service: it measures on this
machine, block after block, and continues an earlier run of the same command.
"""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.arguments import Target
from tuner.cli.output import say
from tuner.errors import InvalidInput
from tuner.model import Budget, JobSpec, Landscape, TargetRequest, TuneRequest
from tuner.settings import Settings

if TYPE_CHECKING:
    from tuner.measurement import Bench

MEASURED = (
    *("target", "baseline_ini", "limits", "workload", "search_space", "budget", "seed"),
    "allow",
)
"""Fields of the spec that must be the same to continue a record."""


def record(
    app: Target,
    out: Annotated[
        Path,
        typer.Option(help="The file of the landscape. The command continues an unfinished one."),
    ],
    space: Annotated[str, typer.Option(help="The search space of the grid.")] = "default",
    at: Annotated[
        list[str] | None,
        typer.Option(help="Values of a parameter: processes=1,2,4. Repeatable."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Fresh starts of each configuration.")] = 3,
    together: Annotated[
        int, typer.Option(min=1, max=15, help="Configurations in one block, with the baseline.")
    ] = 5,
    cycles: Annotated[int, typer.Option(min=1, help="Windows of each start.")] = 2,
    window_s: Annotated[float, typer.Option(min=0.5, help="Seconds of load in one window.")] = 1.2,
    warmup_s: Annotated[
        float, typer.Option(min=0, help="Seconds of load before the first window.")
    ] = 0.8,
    seed: Annotated[int, typer.Option(help="Seed of the order in each round.")] = 1,
) -> None:
    """Record the figures of a grid of configurations, to replay searches without containers."""
    from tuner import bootstrap, worker
    from tuner.measurement import Bench, recorded
    from tuner.search_space import derive

    settings = Settings.from_environ(os.environ)
    known = bootstrap.catalogue(settings)
    budget = Budget(trials=0, confirm_blocks=0, cycles=cycles, window_s=window_s, warmup_s=warmup_s)
    request = TuneRequest(
        app=app, target=TargetRequest(target_app=app), search_space=space, seed=seed
    )
    spec = bootstrap.resolver(known)(request).model_copy(update={"budget": budget})
    domain = derive(spec)
    grid = domain.grid(_values(at or ()))
    with (
        closing(bootstrap.launcher(settings, known)) as launcher,
        worker.alone_on_this_machine(lambda: False),
    ):
        launcher.reap()
        host = launcher.for_measurement("record", "record")
        bench = Bench(host, bootstrap.load_generator(settings))
        landscape = _begun(out, spec, bench)
        blocks = recorded(landscape, domain, grid, bench, rounds=rounds, together=together)
        for landscape in blocks:
            _save(out, landscape)
            say(f"{len(landscape.starts)} starts")
    typer.echo(f"{out}: {len(grid)} configurations, {rounds} starts of each")


def _values(written: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`processes=1,2,4` by parameter. Raises `InvalidInput`."""
    found = {}
    for text in written:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise InvalidInput.at("--at", f"'{text}' is not like processes=1,2,4")
        found[name] = tuple(values.split(","))
    return found


def _begun(out: Path, spec: JobSpec, bench: "Bench") -> Landscape:
    """The landscape of an earlier run of the same command, else a new one."""
    from tuner.worker import prepared

    if out.exists():
        landscape = Landscape.model_validate_json(out.read_text())
        if any(getattr(landscape.spec, name) != getattr(spec, name) for name in MEASURED):
            raise InvalidInput.at("--out", f"{out} is a record of another job")
        return landscape
    facts = prepared(spec, bench).facts
    assert facts is not None  # noqa: S101  a prepare always has some
    # a replay does not need the thousand option names
    return Landscape(spec=spec, facts=replace(facts, options=(), effective_ini=""))


def as_text(landscape: Landscape) -> str:
    """JSON with one line for each start: a diff shows what a later run added."""
    head = landscape.model_copy(update={"starts": ()}).model_dump_json().removesuffix("[]}")
    starts = [start.model_dump_json(exclude_defaults=True) for start in landscape.starts]
    return f"{head}[\n" + ",\n".join(starts) + "\n]}\n"


def _save(out: Path, landscape: Landscape) -> None:
    """Write the file at once: a stopped record continues after its last whole block."""
    beside = out.with_suffix(".part")
    beside.write_text(as_text(landscape))
    beside.replace(out)
