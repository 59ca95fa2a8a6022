"""`tuner record`: every configuration of a grid on real containers, for searches to be replayed on.

Needs no service: it measures on this machine, one block after the other, and goes on where an
earlier run of the same command was stopped.
"""

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.errors import InvalidInput, Mistake
from tuner.model import Budget, JobRequest, JobSpec, Landscape, TargetRequest
from tuner.settings import Settings

if TYPE_CHECKING:
    from tuner.measurement import Bench

MEASURED = (
    *("target", "baseline_ini", "limits", "workload", "search_space", "budget", "seed"),
    "allow",
)
"""What has to be the same of a spec for a record to go on."""


def record(
    app: Annotated[str, typer.Argument(help="A target app's name.")],
    out: Annotated[Path, typer.Option(help="The landscape's file; an unfinished one goes on.")],
    space: Annotated[str, typer.Option(help="The search space to cover.")] = "default",
    at: Annotated[
        list[str] | None,
        typer.Option(help="Values of one parameter, as in processes=1,2,4; again for others."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Fresh starts of every configuration.")] = 3,
    together: Annotated[
        int, typer.Option(min=1, max=15, help="Configurations in one block, with the baseline.")
    ] = 5,
    cycles: Annotated[int, typer.Option(min=1, help="Windows of each start.")] = 2,
    window_s: Annotated[float, typer.Option(min=0.5, help="Seconds of load in one window.")] = 1.2,
    warmup_s: Annotated[float, typer.Option(min=0, help="Seconds of load before them.")] = 0.8,
    seed: Annotated[int, typer.Option(help="Shuffles the rounds.")] = 1,
) -> None:
    """Measure a grid of configurations of one app, to replay searches on without containers."""
    from tuner import bootstrap, worker
    from tuner.measurement import Bench, recorded
    from tuner.search_space import derive

    settings = Settings.from_environ(os.environ)
    known = bootstrap.catalogue(settings)
    budget = Budget(trials=0, confirm_blocks=0, cycles=cycles, window_s=window_s, warmup_s=warmup_s)
    request = JobRequest(
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
            typer.echo(f"{len(landscape.starts)} starts", err=True)
    typer.echo(f"{out}: {len(grid)} configurations, {rounds} starts of each")


def _values(written: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`processes=1,2,4` by parameter. Raises `InvalidInput`."""
    found = {}
    for text in written:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise InvalidInput([Mistake("--at", f"'{text}': write it as in processes=1,2,4")])
        found[name] = tuple(values.split(","))
    return found


def _begun(out: Path, spec: JobSpec, bench: "Bench") -> Landscape:
    """What an earlier run of the same command left, else a new one."""
    from tuner.worker import prepared

    if out.exists():
        landscape = Landscape.model_validate_json(out.read_text())
        if any(getattr(landscape.spec, name) != getattr(spec, name) for name in MEASURED):
            raise InvalidInput([Mistake("--out", f"{out} holds a record of something else")])
        return landscape
    facts = prepared(spec, bench).facts
    assert facts is not None  # noqa: S101  a prepare always has some
    # a thousand names of options, of which a replay needs none
    return Landscape(spec=spec, facts=replace(facts, options=(), effective_ini=""))


def as_text(landscape: Landscape) -> str:
    """JSON with one line for each start: what a later record adds is what a diff shows."""
    head = landscape.model_copy(update={"starts": ()}).model_dump_json().removesuffix("[]}")
    starts = [start.model_dump_json(exclude_defaults=True) for start in landscape.starts]
    return f"{head}[\n" + ",\n".join(starts) + "\n]}\n"


def _save(out: Path, landscape: Landscape) -> None:
    """In one piece: a record that is stopped goes on from its last whole block."""
    beside = out.with_suffix(".part")
    beside.write_text(as_text(landscape))
    beside.replace(out)
