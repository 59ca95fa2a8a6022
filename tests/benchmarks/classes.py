"""Is the bottleneck named? `make bench-classes`, or `python -m tests.benchmarks.classes`.

For every class an app and a setting that provoke it (`tests/bench_scenes.py`), each measured
--runs times in a block of its own. Prints who was taken for whom, and the figures behind every
answer that was wrong. Nothing here asserts: figures depend on the machine.
"""

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence

from tests.bench_arms import opened
from tests.bench_scenes import SCENES, Scene
from tests.benchmarks import rig
from tuner.bench.measurement import Bench
from tuner.nouns.errors import Infrastructure, TargetFailed

FAILED = "failed"
WANTED = 0.9  # share of the runs that must name the right one

Counts = Mapping[str, Counter[str]]


def main() -> None:
    """Run and print."""
    options = parsed()
    rig.begin()
    scenes = [scene for scene in SCENES if not options.only or name(scene) in options.only]
    counts = {name(scene): Counter[str]() for scene in scenes}
    ends = time.monotonic() + 60 * options.minutes
    try:
        with opened() as bench:
            # All scenes in turn: a change of the machine meets all of them.
            for run in range(options.runs):
                for scene in scenes:
                    if time.monotonic() < ends:
                        counts[name(scene)][answer(bench, scene, run)] += 1
    except KeyboardInterrupt:
        print("\nstopped")
    report(counts)


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of every class")
    parser.add_argument("--minutes", type=float, default=30.0, help="stop after this long")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="CLASS", choices=[name(s) for s in SCENES]
    )
    return parser.parse_args()


def name(scene: Scene) -> str:
    """The class that a scene provokes."""
    return scene.bottleneck.value


def answer(bench: Bench, scene: Scene, run: int) -> str:
    """What the product says of one run of the scene."""
    began = time.monotonic()
    try:
        windows = scene.play(bench, seed=run).windows
    except (Infrastructure, TargetFailed) as error:
        print(f"{name(scene)}, run {run}: failed: {error}", flush=True)
        return FAILED
    found = scene.diagnosed(windows)
    print(f"{name(scene)}, run {run}: {found.bottleneck} ({time.monotonic() - began:.1f} s)")
    if found.bottleneck is not scene.bottleneck:
        print_evidence(found.evidence)
    return found.bottleneck.value


def print_evidence(evidence: Mapping[str, float]) -> None:
    """The figures that led astray."""
    print("   ", ", ".join(f"{what} {value:g}" for what, value in sorted(evidence.items())))


def report(counts: Counts) -> None:
    """One line a class: how often it was named, and who was named in its place."""
    print()
    rig.row("provoked", "named right, and what else")
    for wanted, answers in counts.items():
        rig.row(wanted, in_words(wanted, answers))
    rig.row(f"classes named in {WANTED:.0%} of the runs", f"{len(good(counts))} of {len(counts)}")


def in_words(wanted: str, answers: Counter[str]) -> str:
    """`9 of 10; cpu_quota 1`."""
    others = [f"{other} {times}" for other, times in answers.most_common() if other != wanted]
    return "; ".join((f"{answers[wanted]} of {answers.total()}", *others))


def good(counts: Counts) -> Sequence[str]:
    """The classes that were named often enough."""
    return [
        wanted
        for wanted, answers in counts.items()
        if answers.total() and answers[wanted] >= WANTED * answers.total()
    ]


if __name__ == "__main__":
    main()
