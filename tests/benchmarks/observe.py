"""A look at production: `make bench-observe`, or `python -m tests.benchmarks.observe`.

Ten productions with a known ailment, each looked at --runs times: is it named? Then what a look
costs the uWSGI: CPU time of its cgroup and requests in --seconds with and without a look, in pairs,
while all its workers wait for a backend. CPU time shows a cost that the requests of a busy host
hide: a uWSGI that fills its CPU loses the same share of requests. Nothing here asserts: figures
depend on the machine.
"""

import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from tests.benchmarks import rig
from tests.staged_productions import SLOW_BACKEND, STAGED, Production, Staged, staged
from tuner.production.looking import Watcher
from tuner.production.observing import observed


def main() -> None:
    """Run and print."""
    options = parsed()
    rig.begin()
    for what in STAGED:
        if what.name in options.only or not options.only:
            names = Counter(named(what, options.seconds) for _ in range(options.runs))
            rig.row(f"{what.name} ({what.bottleneck.value})", str(dict(names)))
    if options.pairs > 1:
        cpu, requests = zip(*cost(options.pairs, options.seconds), strict=True)
        rig.row("cost of a look: % of one CPU", mean(cpu))
        rig.row("cost of a look: % of the requests", mean(requests))


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each production")
    parser.add_argument("--seconds", type=float, default=12.0, help="of one look")
    parser.add_argument("--pairs", type=int, default=20, help="with a look and without; 0: none")
    parser.add_argument("--only", nargs="*", default=[], choices=[each.name for each in STAGED])
    return parser.parse_args()


def mean(values: Sequence[float]) -> str:
    """With its standard error."""
    return f"{fmean(values):+.3f} (SE {stdev(values) / sqrt(len(values)):.3f}, n {len(values)})"


def named(what: Staged, seconds: float) -> str:
    """What the product says of one run."""
    with tempfile.TemporaryDirectory() as folder, staged(what, Path(folder)) as seen:
        watcher = seen.watcher()
        looks = [watcher.look()]
        while looks[-1].at_s < looks[0].at_s + seconds:
            time.sleep(1)
            looks.append(watcher.look())
    found = observed(looks, watcher.box).diagnosis
    if found.bottleneck is not what.bottleneck:
        print("   ", ", ".join(f"{name} {value:g}" for name, value in found.evidence.items()))
    return found.bottleneck.value


def cost(pairs: int, seconds: float) -> list[tuple[float, float]]:
    """Percent of one CPU, and of the requests, of each pair; the order alternates."""
    found = []
    with tempfile.TemporaryDirectory() as folder, staged(SLOW_BACKEND, Path(folder)) as seen:
        watcher = seen.watcher()
        for pair in range(pairs):
            order = (False, True) if pair % 2 else (True, False)
            rates = {look: _rates(seen, watcher, seconds, look=look) for look in order}
            (cpu, rps), (cpu_alone, rps_alone) = rates[True], rates[False]
            found.append((100 * (cpu - cpu_alone), 100 * (1 - rps / rps_alone)))
    return found


def _rates(
    seen: Production, watcher: Watcher, seconds: float, *, look: bool
) -> tuple[float, float]:
    """CPUs that its cgroup used, and requests per second by its own count."""
    words = ("observe", seen.stats, "--pid", str(seen.pid), "--minutes", str(seconds / 60 + 1))
    command = [sys.executable, "-m", "tuner.cli", *words]
    process = None
    if look:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(4)  # until it has been imported
    before = watcher.look()
    time.sleep(seconds)
    after = watcher.look()
    if process is not None:
        process.kill()
        process.wait()
    assert before.usage is not None
    assert after.usage is not None
    wall_s = after.at_s - before.at_s
    ended = after.activity.counters.requests - before.activity.counters.requests
    return (after.usage.cpu_s - before.usage.cpu_s) / wall_s, ended / wall_s


if __name__ == "__main__":
    main()
