"""Record a landscape: `make bench-record`, or `python -m tests.benchmarks.record APP --out FILE`.

Every configuration of a grid is measured on real containers, block after block; `bench-search`
replays searches on the record. A record that was stopped goes on where it was.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from tests.benchmarks import rig
from tests.benchmarks.replay.recording import recorded
from tests.benchmarks.replay.records import Landscape
from tests.grids import grid
from tuner.bench.engine import DockerLauncher
from tuner.bench.measurement import Bench
from tuner.nouns.errors import InvalidInput, Unavailable
from tuner.nouns.model import Budget, JobSpec, TargetRequest, TuneRequest
from tuner.service import bootstrap, worker
from tuner.service.settings import Settings
from tuner.targets.search_space import derive

LOOK_EVERY_S = 3.0
MEASURED = (
    *("target", "baseline_ini", "limits", "workload", "search_space", "budget", "seed"),
    "allow",
)
"""Fields of the spec that must be the same to continue a record."""


def main() -> None:
    """Record, and print the number of starts after every block."""
    given = parsed(sys.argv[1:])
    settings = Settings.from_environ(os.environ)
    known = bootstrap.catalogue(settings)
    request = TuneRequest(
        app=given.app,
        target=TargetRequest(target_app=given.app),
        search_space=given.space,
        seed=given.seed,
    )
    budget = Budget(
        trials=0,
        confirm_blocks=0,
        cycles=given.cycles,
        window_s=given.window_s,
        warmup_s=given.warmup_s,
    )
    spec = bootstrap.resolver(known)(request).model_copy(update={"budget": budget})
    domain = derive(spec)
    configurations = grid(domain, dict(given.at))
    with closing(bootstrap.launcher(settings, known)) as launcher, alone(launcher):
        launcher.reap()
        host = launcher.for_measurement("record", "record")
        bench = Bench(host, bootstrap.load_generator(settings))
        for landscape in recorded(
            begun(given.out, spec, bench),
            domain,
            configurations,
            bench,
            rounds=given.rounds,
            together=given.together,
        ):
            save(given.out, landscape)
            print(f"{len(landscape.starts)} starts", flush=True)
    print(f"{given.out}: {len(configurations)} configurations, {given.rounds} starts of each")


@contextmanager
def alone(launcher: DockerLauncher) -> Iterator[None]:
    """Wait until nothing else measures on this machine."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(launcher.alone())
                break
            except Unavailable as taken:
                print(taken, flush=True)
                time.sleep(LOOK_EVERY_S)
        yield


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("app", help="a target app")
    parser.add_argument("--out", type=Path, required=True, help="the file of the landscape")
    parser.add_argument("--space", default="default", help="the search space of the grid")
    parser.add_argument(
        "--at", type=values, action="append", default=[], help="processes=1,2,4; repeatable"
    )
    parser.add_argument("--rounds", type=int, default=3, help="starts of each configuration")
    parser.add_argument("--together", type=int, default=5, help="configurations in one block")
    parser.add_argument("--cycles", type=int, default=2, help="windows of each start")
    parser.add_argument("--window-s", type=float, default=1.2)
    parser.add_argument("--warmup-s", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round")
    return parser.parse_args(words)


def values(text: str) -> tuple[str, tuple[str, ...]]:
    """`processes=1,2,4` as a parameter and its values."""
    name, equals, listed = text.partition("=")
    if not equals or not listed:
        raise argparse.ArgumentTypeError(f"'{text}' is not like processes=1,2,4")
    return name, tuple(listed.split(","))


def begun(out: Path, spec: JobSpec, bench: Bench) -> Landscape:
    """The landscape of an earlier run of the same command, else a new one."""
    if out.exists():
        landscape = Landscape.model_validate_json(out.read_text())
        if any(getattr(landscape.spec, name) != getattr(spec, name) for name in MEASURED):
            raise SystemExit(f"{out} is a record of another job")
        return landscape
    facts = worker.prepared(spec, bench).facts
    assert facts is not None
    # a replay does not need the thousand option names
    return Landscape(spec=spec, facts=replace(facts, options=(), effective_ini=""))


def as_text(landscape: Landscape) -> str:
    """JSON with one line for each start: a diff shows what a later run added."""
    head = landscape.model_copy(update={"starts": ()}).model_dump_json().removesuffix("[]}")
    starts = [start.model_dump_json(exclude_defaults=True) for start in landscape.starts]
    return f"{head}[\n" + ",\n".join(starts) + "\n]}\n"


def save(out: Path, landscape: Landscape) -> None:
    """Write the file at once: a stopped record continues after its last whole block."""
    beside = out.with_suffix(".part")
    beside.write_text(as_text(landscape))
    beside.replace(out)


if __name__ == "__main__":
    try:
        main()
    except InvalidInput as mistakes:
        sys.exit(str(mistakes))
