"""What measuring itself costs: `make bench-cost`, or `python -m tests.benchmarks.cost`.

The wall time of a 2.5 s window beyond those 2.5 s, from the start of one window's load to the
start of the next; the time from the start of a block of two arms until both can be measured; the
load generators' CPU time per 1 000 requests. Nothing here asserts: figures depend on the machine.
"""

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import median

from tests.bench_arms import HTTP_SOCKET, arm, opened
from tests.benchmarks import rig
from tuner.bench.measurement import ArmSpec, Bench
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import Budget, ClosedLoop, HttpRequest, Journey, Load

WINDOW_S = 2.5
CONNECTIONS = 16
FRONTS = {
    "http-socket": HTTP_SOCKET,
    "http router": "http = :8000",
    "nginx": "socket = 127.0.0.1:3031",
}
CLOSE = ClosedLoop(concurrency=CONNECTIONS)
KEEP_ALIVE = ClosedLoop(concurrency=CONNECTIONS, keep_alive=True)
JOURNEY = Journey(
    kind="journey", users=CONNECTIONS, requests=(HttpRequest(), HttpRequest(path="/more"))
)


def main() -> None:
    """Run and print."""
    options = parsed()
    rig.begin()
    with opened() as bench:
        for name, front in FRONTS.items():
            beyond = partial(windows, bench, front, options.windows)
            attempt(f"beyond a {WINDOW_S:g} s window, {name}", beyond)
        for name, front in FRONTS.items():
            attempt(f"two arms ready, {name}", partial(starts, bench, front, options.blocks))
        for what, load, threads in (
            ("oha, one connection a request", CLOSE, 1),
            ("oha, keep-alive", KEEP_ALIVE, CONNECTIONS),
            ("k6, journey", JOURNEY, 1),
        ):
            cost = partial(client_cpu, bench, load, threads, options.readings)
            attempt(f"client CPU per 1 000: {what}", cost)


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--windows", type=int, default=20, help="of every front")
    parser.add_argument("--blocks", type=int, default=10, help="starts of every front")
    parser.add_argument("--readings", type=int, default=5, help="of every load")
    return parser.parse_args()


def trivial(front: str, index: int = 0, *lines: str) -> ArmSpec:
    """An app that does nothing, behind `front`."""
    return arm("flawed", *lines, front=front, index=index)


def windows(bench: Bench, front: str, count: int) -> str:
    """Seconds from one window's start to the next, less the window."""
    budget = Budget(
        trials=1,
        confirm_blocks=4,
        cycles=min(64, count // 2 + 1),
        window_s=WINDOW_S,
        warmup_s=0.5,
    )
    arms = [trivial(front, 0), trivial(front, 1)]
    result = bench.run_block(arms, CLOSE, budget, seed=1)
    begun = [window.started_at for window in result.windows]
    beyond = [(then - now).total_seconds() - WINDOW_S for now, then in pairwise(begun)]
    return f"{rig.middle_half(beyond)} s"


def starts(bench: Bench, front: str, count: int) -> str:
    """Seconds until the slower of two arms is ready, both started at once."""
    budget = Budget(trials=1, confirm_blocks=4, cycles=1, window_s=0.5, warmup_s=0)
    slower = []
    for seed in range(count):
        arms = [trivial(front, 0), trivial(front, 1)]
        slower.append(max(bench.run_block(arms, CLOSE, budget, seed=seed).ready_s))
    return f"{rig.middle_half(slower)} s"


def client_cpu(bench: Bench, load: Load, threads: int, count: int) -> str:
    """Milliseconds of CPU, and the rate at which they were taken."""
    front = "http11-socket = :8000" if threads > 1 else HTTP_SOCKET
    spec = trivial(front, 0, f"threads = {threads}")
    costs: list[float] = []
    rates: list[float] = []
    with bench.launcher.launch(spec) as running:
        bench.load.wait_ready(running, spec.target)
        for _ in range(count):
            reading = bench.load.drive(running, spec.target, load, WINDOW_S)
            costs.append(1e6 * reading.client_cpu_s / reading.sent)
            rates.append(reading.requests / reading.duration_s)
    return f"{rig.middle_half(costs, 0)} ms, at {median(rates):.0f} requests/s"


def attempt(what: str, measured: Callable[[], str]) -> None:
    """One line of the table; a failure is one too."""
    try:
        rig.row(what, measured())
    except (Infrastructure, TargetFailed) as error:
        rig.row(what, f"failed: {error}")


if __name__ == "__main__":
    main()
