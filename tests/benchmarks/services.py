"""What services cost and keep: `make bench-services`, or `python -m tests.benchmarks.services`.

Blocks of two arms of `django-shop`, whose PostgreSQL and Redis start with 20 000 products, get
orders. Prints how long an arm takes until it is ready, and how many rows each arm began with: all
arms have to begin with as many. Nothing here asserts.
"""

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from statistics import median

from tests.bench_arms import opened
from tests.benchmarks import rig
from tuner.bench.engine import DockerLauncher
from tuner.bench.engine.commands import execute
from tuner.bench.engine.target import DockerTarget
from tuner.bench.measurement import ArmSpec, Bench
from tuner.nouns.model import DEFAULT_COMMAND, ClosedLoop, HttpRequest, Target
from tuner.targets.catalogue import HostCatalogue

APP = "django-shop"
ROWS = "select count(*) from store_orderline"
SECONDS = 2.0
CONNECTIONS = 8


def main() -> None:
    """Run and print."""
    options = parsed()
    rig.begin()
    known = HostCatalogue.load()
    found = known.apps[APP]
    fields = found.app.model_dump(include=set(Target.model_fields))
    target = Target(target_app=APP, **fields | {"command": DEFAULT_COMMAND})
    arms = [
        ArmSpec(index=index, ini=found.baseline_ini, target=target, limits=found.app.limits)
        for index in range(options.arms)
    ]
    orders = [each for each in found.app.workload.requests if each.method == "POST"]
    began = time.monotonic()
    with opened(apps=known.build_dir) as bench:
        assert isinstance(bench.launcher, DockerLauncher)
        with bench.launcher.launch(arms[0]):
            rig.row("data and services made, s", f"{time.monotonic() - began:.1f}")
        report([block(bench, arms, orders) for _ in range(options.blocks)])
        bench.launcher.end_jobs(())


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--arms", type=int, default=2, help="of a block; they start side by side")
    return parser.parse_args()


Block = tuple[tuple[float, ...], list[int], list[int]]
"""Seconds until each arm was ready, its rows at the start, and its rows after the orders."""


def block(bench: Bench, arms: Sequence[ArmSpec], orders: Sequence[HttpRequest]) -> Block:
    """One block: every arm gets orders in turn."""
    load = ClosedLoop(requests=tuple(orders), concurrency=CONNECTIONS)
    before, after = [], []
    with bench.started(arms) as (running, ready_s):
        for arm, target in zip(arms, running, strict=True):
            assert isinstance(target, DockerTarget)
            target.resume()
            before.append(rows(target))
            bench.load.drive(target, arm.target, load, SECONDS)
            after.append(rows(target))
            target.rest()
    return ready_s, before, after


def rows(target: DockerTarget) -> int:
    """How many rows PostgreSQL has."""
    argv = ["psql", "--host=127.0.0.1", "--username=postgres", "--dbname=shop", "-tAc", ROWS]
    done = execute(
        target.connection,
        target.services["postgres"],
        ["env", "PGPASSWORD=only-for-measuring", *argv],
        user="",
        timeout_s=20,
        meanwhile=lambda: None,
    )
    return int(done.stdout)


def report(blocks: Sequence[Block]) -> None:
    """Print the figures of all blocks."""
    ready = [seconds for found, _, _ in blocks for seconds in found]
    started = Counter(count for _, before, _ in blocks for count in before)
    written = [
        after - before
        for _, starts, ends in blocks
        for before, after in zip(starts, ends, strict=True)
    ]
    rig.row("an arm is ready after, s", f"{rig.middle_half(ready)}, at most {max(ready):.2f}")
    rig.row("rows at the start: arms", str(dict(started)))
    rig.row("rows that an arm wrote", f"{median(written):.0f} in the median")


if __name__ == "__main__":
    main()
