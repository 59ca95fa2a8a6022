"""Does the measuring lie? `make bench-honesty`, or `python -m tests.benchmarks.honesty`.

Blocks with three arms: an app; the same app again; the app with 5 % less to compute. The first
two are compared in sets of 10 blocks: the 95 % interval of their difference must hold 0 (in 200
blocks there are 20 sets; at most 3 may miss it). The first and the third are compared in sets of
20 blocks: the interval must exclude 0 (in at least 8 of 10).

Every block is one line of --out, written as soon as it is there; with the same file the run goes
on where it was stopped. Nothing here asserts: figures depend on the machine.
"""

import json
import math
import os
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median, stdev

from tests.bench_arms import opened, work
from tests.benchmarks import rig
from tuner.bench.measurement import Bench
from tuner.judge import analysis
from tuner.judge.objective import at_equal_speed, log_level, of_arm
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import Budget, ClosedLoop, Metric, Window, counted

AA_BLOCKS = 10
POWER_BLOCKS = 20
UNITS = 2000  # some 3 ms: what uWSGI adds to it takes little away from the planted 5 %
PROCESSES = 2
BUDGET = Budget(trials=1, confirm_blocks=4, cycles=2, window_s=0.9, warmup_s=0.5)
FAILURES_IN_A_ROW = 5
OUT = Path(tempfile.gettempdir()) / "tuner-honesty.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block: log ratios to its first arm; None where windows were void or it failed."""

    number: int
    same: float | None  # the same app again
    planted: float | None  # 5 % less to compute
    wall_s: float
    setup_s: float
    rps: float | None  # of the first arm
    load_average: float
    doubts: tuple[str, ...]
    failure: str = ""


def main() -> None:
    """Run, or go on, and print."""
    options = parsed()
    rig.begin()
    blocks = stored(options.out)
    print(f"{len(blocks)} blocks are in {options.out}\n")
    ends = time.monotonic() + 60 * options.minutes
    try:
        measure(blocks, options, ends)
    except KeyboardInterrupt:
        print("\nstopped")
    report(blocks)


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--blocks", type=int, default=200, help="in all, stored ones included")
    parser.add_argument("--minutes", type=float, default=40.0, help="stop after this long")
    parser.add_argument("--window-s", type=float, default=BUDGET.window_s)
    parser.add_argument("--warmup-s", type=float, default=BUDGET.warmup_s)
    parser.add_argument("--cycles", type=int, default=BUDGET.cycles)
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args()


def stored(path: Path) -> list[Block]:
    """What an earlier run left."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Block(**json.loads(line)) for line in lines]


def measure(blocks: list[Block], options: Namespace, ends: float) -> None:
    """Add blocks until there are enough, or time is up."""
    budget = BUDGET.model_copy(
        update={
            "window_s": options.window_s,
            "warmup_s": options.warmup_s,
            "cycles": options.cycles,
        }
    )
    failures = 0
    with opened() as bench, options.out.open("a") as out:
        while len(blocks) < options.blocks and time.monotonic() < ends:
            block = one_block(bench, budget, number=len(blocks))
            blocks.append(block)
            print(json.dumps(asdict(block)), file=out, flush=True)
            print(in_words(block), flush=True)
            failures = failures + 1 if block.failure else 0
            if failures == FAILURES_IN_A_ROW:
                raise SystemExit(f"{failures} blocks in a row failed")
            if len(blocks) % AA_BLOCKS == 0:
                report(blocks)


def one_block(bench: Bench, budget: Budget, *, number: int) -> Block:
    """Measure the three arms side by side."""
    arms = [
        work(units=UNITS, processes=PROCESSES, plant=planted, index=index)
        for index, planted in enumerate((True, True, False))
    ]
    began, load_average = time.monotonic(), os.getloadavg()[0]
    windows: Sequence[Window] = ()
    setup_s, failure = 0.0, ""
    try:
        result = bench.run_block(arms, ClosedLoop(concurrency=16), budget, seed=number)
        windows, setup_s = result.windows, result.setup_s
    except (Infrastructure, TargetFailed) as error:
        failure = str(error)
    compared = at_equal_speed(counted(windows))
    levels = [log_level(of_arm(compared, arm), Metric.THROUGHPUT_RPS) for arm in range(3)]
    return Block(
        number=number,
        same=difference(levels[1], levels[0]),
        planted=difference(levels[2], levels[0]),
        wall_s=round(time.monotonic() - began, 2),
        setup_s=round(setup_s, 2),
        rps=None if levels[0] is None else round(math.exp(levels[0]), 1),
        load_average=load_average,
        doubts=tuple(sorted({doubt.value for window in windows for doubt in window.doubts})),
        failure=failure,
    )


def difference(one: float | None, other: float | None) -> float | None:
    """Of two levels, where both are known."""
    return None if one is None or other is None else round(one - other, 6)


def in_words(block: Block) -> str:
    """One line of progress."""
    if block.failure:
        return f"  {block.number:>4}  failed: {block.failure}"
    doubts = f"  {', '.join(block.doubts)}" if block.doubts else ""
    return (
        f"  {block.number:>4}  same {percent(block.same)}  planted {percent(block.planted)}"
        f"  {block.rps or 0:6.0f} rps  {block.wall_s:5.1f} s{doubts}"
    )


def percent(ratio: float | None) -> str:
    """A log ratio as a change."""
    return "     void" if ratio is None else f"{math.expm1(ratio):+8.2%} "


def report(blocks: Sequence[Block]) -> None:
    """All sets that are complete, and what they add up to."""
    print()
    report_sets("same app, 0 must be inside", (b.same for b in blocks), AA_BLOCKS, want=False)
    report_sets("planted +5 %, 0 must be out", (b.planted for b in blocks), POWER_BLOCKS, want=True)
    walls = [block.wall_s for block in blocks if not block.failure]
    rig.row("seconds a block", rig.middle_half(walls))
    failed, noisy = sum(bool(b.failure) for b in blocks), sum(bool(b.doubts) for b in blocks)
    rig.row("blocks failed, with doubts", f"{failed}, {noisy} of {len(blocks)}")
    print(flush=True)


def report_sets(title: str, found: Iterable[float | None], size: int, *, want: bool) -> None:
    """Intervals of successive sets of `size` usable blocks."""
    ratios = [ratio for ratio in found if ratio is not None]
    sets = [ratios[at : at + size] for at in range(0, len(ratios) - size + 1, size)]
    excluding = 0
    for number, values in enumerate(sets, start=1):
        seen = analysis.estimate(values)
        excludes = seen.low > 0 or seen.high < 0
        excluding += excludes
        mark = "" if excludes == want else "  <--"
        interval = f"{math.expm1(seen.low):+.2%} .. {math.expm1(seen.high):+.2%}"
        rig.row(f"{title}, set {number}", f"{math.expm1(seen.value):+.2%}  ({interval}){mark}")
    if len(ratios) > 1:
        rig.row(f"{title}: excluded by", f"{excluding} of {len(sets)} sets of {size} blocks")
        rig.row(
            "  all blocks: mean, median, block sd",
            f"{fmean(ratios):+.4f}, {median(ratios):+.4f}, {stdev(ratios):.4f} (n {len(ratios)})",
        )


if __name__ == "__main__":
    main()
