"""500 users at once: `make bench-burst`, or `python -m tests.benchmarks.burst`.

The case that the product was conceived from: all users start at the same instant, each asks for
three pages in order, every answer must be there within 5 s, two processes serve them. Measured
with `listen` at 100 and at 4096, directly and through nginx. Prints how long connecting took, how
long the users waited, and what the product says of it. Nothing here asserts.
"""

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from statistics import median

from tests.bench_arms import HTTP_SOCKET, opened, work
from tests.benchmarks import rig
from tuner.bench.measurement import Bench
from tuner.judge import diagnosis
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import Budget, Burst, Histogram, HttpRequest, Limits, Spread, Window

FRONTS = {"http-socket": HTTP_SOCKET, "nginx": "socket = 127.0.0.1:3031"}
LISTENS = (100, 4096)
LIMITS = Limits(cpus=1.0, memory_mb=512, somaxconn=4096)
PAGES = ("/login", "/basket", "/pay")
WAIT_MS, UNITS = 10, 9000  # per request: a backend's answer, and some 12 ms of CPU
SHARES = (0.5, 0.75, 0.95, 0.99)


def main() -> None:
    """Run and print."""
    options = parsed()
    rig.begin()
    load = Burst(
        kind="burst",
        users=options.users,
        limit_s=options.limit_s,
        requests=tuple(HttpRequest(path=path) for path in PAGES),
    )
    budget = Budget(trials=1, confirm_blocks=4, cycles=options.bursts, window_s=2.0, warmup_s=1.0)
    with opened() as bench:
        for front in options.fronts:
            measure(bench, front, load, budget, options)


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--bursts", type=int, default=3, help="of every setting")
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--units", type=int, default=UNITS, help="of CPU work in a request")
    parser.add_argument("--limit-s", type=float, default=5.0)
    parser.add_argument("--fronts", nargs="+", default=list(FRONTS), choices=list(FRONTS))
    return parser.parse_args()


def measure(bench: Bench, front: str, load: Burst, budget: Budget, options: Namespace) -> None:
    """One block of both values of `listen` behind one front."""
    processes = options.processes
    arms = [
        work(
            f"listen = {listen}",
            wait_ms=WAIT_MS,
            units=options.units,
            front=FRONTS[front],
            processes=processes,
            limits=LIMITS,
            index=index,
        )
        for index, listen in enumerate(LISTENS)
    ]
    try:
        windows = bench.run_block(arms, load, budget, seed=1).windows
    except (Infrastructure, TargetFailed) as error:
        print(f"{front}: failed: {error}\n", flush=True)
        return
    for index, listen in enumerate(LISTENS):
        print(f"{front}, listen = {listen}, {processes} processes")
        report([window for window in windows if window.arm == index], load, processes)


def report(windows: Sequence[Window], load: Burst, processes: int) -> None:
    """Medians over the bursts; percentiles over all requests that were answered."""
    latency = Histogram.merged(window.histogram for window in windows)
    times = [f"p{100 * share:g} {latency.percentile_ms(share) or 0:.0f} ms" for share in SHARES]
    over = [window.over_limit for window in windows if window.over_limit is not None]
    errors = sum((Counter(window.errors_by_class) for window in windows), Counter[str]())
    sent = sum(window.sent for window in windows)
    rig.row("  a request, connect included", ", ".join(times))
    rig.row(f"  share over {load.limit_s:g} s", f"{median(over):.1%}" if over else "not seen")
    rig.row("  the client's connect", spread([w.connect for w in windows if w.connect]))
    proxies = [window.proxy for window in windows if window.proxy]
    if proxies:
        rig.row("  nginx: connect to uWSGI", spread([proxy.connect for proxy in proxies]))
        rig.row("  nginx: until the first byte", spread([proxy.header for proxy in proxies]))
        statuses = sum((Counter(proxy.by_status) for proxy in proxies), Counter[str]())
        rig.row("  nginx: answers", listed(statuses))
    rig.row("  errors of all requests", f"{listed(errors) or 'none'} of {sent}")
    rig.row("  connections dropped at the queue", f"{sum(w.listen_overflows for w in windows)}")
    limit_s = diagnosis.burst_limit_s(load)
    found = diagnosis.diagnose(windows, LIMITS, processes=processes, limit_s=limit_s)
    rig.row(f"  {found.bottleneck}", found.sentence)
    print(flush=True)


def spread(found: Sequence[Spread]) -> str:
    """Medians over the bursts."""
    if not found:
        return "not seen"
    p50, p95, most = (
        median(values)
        for values in zip(*((one.p50_ms, one.p95_ms, one.max_ms) for one in found), strict=True)
    )
    return f"p50 {p50:.0f} ms, p95 {p95:.0f} ms, max {most:.0f} ms"


def listed(counts: Counter[str]) -> str:
    """`http_502 12, refused 3`."""
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


if __name__ == "__main__":
    main()
