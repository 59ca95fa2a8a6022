"""Is a more fragile file found, and only that? `make bench-fragility`.

Two blocks of all scenes for each trial, as in `quick`. `nulls` play the same file twice: more than
1 in 20 called worse is too many. `hung` play 1 process where 3 were, and `reload` an app that loads
for 2 s and is reloaded as a whole instead of process by process: each must be found.

Every trial is one line in the user's cache; a run makes the list complete, and goes on where an
earlier one was stopped. Exit code 1 where a claim does not hold.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tests.bench_arms import SHORT, opened, work
from tests.benchmarks import rig
from tests.benchmarks.journal import Journal, Row, arguments, complete
from tests.builders import block
from tuner.bench.measurement import ArmSpec, Bench, run_scenes
from tuner.judge.recommendation.standing import compare_scenes
from tuner.nouns.model import ClosedLoop, Measurement, Scene

WANTED = {"nulls": 20, "hung": 10, "reload": 3}
BLOCKS = 2
LOAD = ClosedLoop(concurrency=16)
SCENES = {"nulls": tuple(Scene), "hung": (Scene.HUNG_WORKER,), "reload": (Scene.RELOAD,)}
LOADS_FOR_2_S = "env = START_MS=002000"
CHAIN = ("lazy-apps = true", "touch-chain-reload = /tmp/reload")


def main() -> int:
    """Run, or go on, and print."""
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=WANTED, metavar="KIND", default=[*WANTED])
    parser.add_argument("--trials", type=int, metavar="N", help="of each kind at most, now")
    options = parser.parse_args()
    return complete("bench-fragility", options, partial(run, options), report)


def run(options: Namespace, journal: Journal) -> None:
    """The trials that are missing."""
    most = options.trials
    with opened() as bench:
        for kind in options.only:
            there = sum(row["kind"] == kind for row in journal.rows())
            missing = max(0, WANTED[kind] - there)
            for seed in range(there, there + min(missing, missing if most is None else most)):
                row = trial(bench, kind, seed)
                journal.add(row)
                print(line(row), flush=True)


def trial(bench: Bench, kind: str, seed: int) -> Row:
    """Some blocks, and which scenes they call worse."""
    blocks = [played(bench, arms(kind), kind, BLOCKS * seed + number) for number in range(BLOCKS)]
    found = compare_scenes(blocks)
    return {
        "kind": kind,
        "seed": seed,
        "worse": [each.scene.value for each in found if each.is_worse],
        "said": [each.sentence for each in found],
    }


def arms(kind: str) -> list[ArmSpec]:
    """Baseline and candidate."""
    if kind == "reload":
        chained = work(LOADS_FOR_2_S, *CHAIN, processes=3, wait_ms=5)
        return [chained, work(LOADS_FOR_2_S, processes=3, wait_ms=5, index=1)]
    processes = 3 if kind == "nulls" else 1
    return [work(processes=3, wait_ms=5), work(processes=processes, wait_ms=5, index=1)]


def played(bench: Bench, arms: Sequence[ArmSpec], kind: str, seed: int) -> Measurement:
    """One block."""
    result = run_scenes(bench, arms, LOAD, SHORT, seed=seed, scenes=SCENES[kind])
    return replace(block(), result=result)


def report(rows: Sequence[Row]) -> int:
    """Both counts; the exit code."""
    for row in rows:
        print(line(row))
    played = {kind: [bool(row["worse"]) for row in rows if row["kind"] == kind] for kind in WANTED}
    nulls, hung, reload = played["nulls"], played["hung"], played["reload"]
    rig.row("the same file twice, called worse", f"{sum(nulls)} of {len(nulls)}")
    rig.row("1 process for 3, found", f"{sum(hung)} of {len(hung)}")
    rig.row("reload as a whole for a chain reload, found", f"{sum(reload)} of {len(reload)}")
    return 0 if all(hung + reload) and sum(nulls) <= max(1, len(nulls) // 20) else 1


def line(row: Row) -> str:
    """One trial."""
    return f"  {row['kind']:<6} {row['seed']:>3}  worse: {', '.join(row['worse']) or 'none'}"


if __name__ == "__main__":
    sys.exit(main())
