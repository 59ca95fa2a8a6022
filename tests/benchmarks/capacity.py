"""How right the estimator of capacity is, on queues of known capacity: `make bench-capacity`.

Queues with k servers, first come, first served, Poisson arrivals, p95 within 200 ms; in each probe
the server is faster or slower by a noise of 1 or 3 % (normal, of the log). The truth is a queue
with two million requests. Exit code 1 where the bias is 2 % or more, or the interval holds the
truth in less than 92 % or more than 98 % of the seeds, in a queue that is judged. In the others the
limit is near the tail of the service times themselves, and the curve nearly flat.
"""

import heapq
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tests.benchmarks import rig
from tuner.judge import capacity
from tuner.judge.capacity import Probe
from tuner.nouns.model import CapacityLimit

LIMIT = CapacityLimit(latency_p95_ms=200)
HEAD = 0.2
BIAS_BELOW = 0.02
COVERS = (0.92, 0.98)
TRUTH_REQUESTS = 2_000_000
TRUTH_STEPS = 12

Times = npt.NDArray[np.float64]
Service = Callable[[np.random.Generator, int], Times]


class Queue(NamedTuple):
    """Servers, their service times in seconds, what they serve at most, whether it is judged."""

    servers: int
    service: Service
    saturated_rps: float
    is_judged: bool = True


def _gamma(mean_s: float, cv: float) -> Service:
    return lambda rng, number: rng.gamma(cv**-2, mean_s * cv**2, number)


def _with_slow(rng: np.random.Generator, number: int) -> Times:
    return _gamma(0.012, 0.5)(rng, number) + 0.25 * (rng.random(number) < 0.01)


QUEUES = {
    "2 x 8 ms, cv 0.3": Queue(2, _gamma(0.008, 0.3), 250),
    "2 x 8 ms, cv 1": Queue(2, _gamma(0.008, 1), 250),
    "16 x 60 ms, cv 0.5": Queue(16, _gamma(0.06, 0.5), 267),
    "2 x 40 ms, cv 0.5": Queue(2, _gamma(0.04, 0.5), 50),
    "4 x 12 ms, 1 % + 250 ms (not judged)": Queue(4, _with_slow, 276, is_judged=False),
    "8 x 90 ms, cv 0.6 (not judged)": Queue(8, _gamma(0.09, 0.6), 89, is_judged=False),
}


class Found(NamedTuple):
    """One seed: log of estimate / truth, whether the interval has it, its half width, seconds."""

    error: float
    covers: bool
    half: float
    seconds: float


def main() -> int:
    """Simulate and print; the exit code."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    rig.begin()
    good = True
    with ProcessPoolExecutor(asked.workers) as pool:
        truths = dict(zip(QUEUES, pool.map(truth, QUEUES), strict=True))
        for noise in (0.01, 0.03):
            for name, queue in QUEUES.items():
                one = partial(run, name, truths[name], noise)
                tries = list(pool.map(one, range(asked.seeds), chunksize=5))
                found = [each for each in tries if each is not None]
                good &= _row(name, noise, truths[name], found, len(tries)) or not queue.is_judged
    return int(not good)


def _row(name: str, noise: float, rps: float, found: list[Found], tries: int) -> bool:
    errors, covers, halves, seconds = (np.array(column) for column in zip(*found, strict=True))
    bias, held = errors.mean(), covers.sum() / tries
    rig.row(
        f"{name}; noise {noise:.0%}; {rps:.1f}/s",
        f"bias {bias:+.2%}, sd {errors.std():.2%}, covers {held:.1%},"
        f" half width {np.median(halves):.1%}, {seconds.mean():.0f} s",
    )
    return bool(abs(bias) < BIAS_BELOW and COVERS[0] <= held <= COVERS[1])


def truth(name: str) -> float:
    """The rate at which p95 is the limit."""
    queue = QUEUES[name]
    low, high = 0.3 * queue.saturated_rps, 1.05 * queue.saturated_rps
    for _ in range(TRUTH_STEPS):
        rate = (low + high) / 2
        waits = latencies(queue, np.random.default_rng(5), rate, TRUTH_REQUESTS / rate)
        is_late = np.quantile(waits, 0.95) > LIMIT.latency_ms / 1000
        low, high = (low, rate) if is_late else (rate, high)
    return (low + high) / 2


def run(name: str, rps: float, noise: float, seed: int) -> Found | None:
    """The real estimator on probes of one seed; None where it found no capacity."""
    queue, rng = QUEUES[name], np.random.default_rng(1000 + seed)
    probes: list[Probe] = []
    seconds = 0.0
    while ask := capacity.next_probe(probes, LIMIT, queue.saturated_rps):
        speed = math.exp(rng.normal(0, noise))
        waits = latencies(queue, rng, ask.rate_rps, ask.seconds, speed, HEAD * ask.seconds)
        sent = max(1, len(waits)) / (1 - HEAD) / ask.seconds
        p95_ms = 1000 * float(np.quantile(waits, 0.95)) if len(waits) else 1.0
        excess = math.log(p95_ms / LIMIT.latency_ms)
        probes.append(Probe(sent, excess, ask.seconds / capacity.long_s(ask.rate_rps, LIMIT)))
        seconds += ask.seconds
    found = capacity.estimate(probes) if capacity.is_bracketed(probes) else None
    if found is None:
        return None
    half = (math.log(found.high) - math.log(found.low)) / 2
    return Found(math.log(found.rps / rps), found.low <= rps <= found.high, half, seconds)


def latencies(
    queue: Queue,
    rng: np.random.Generator,
    rate_rps: float,
    seconds: float,
    speed: float = 1.0,
    head_s: float = 0.0,
) -> Times:
    """Latencies in seconds of the requests due after the head, from an empty queue."""
    due = np.sort(rng.uniform(0, seconds, rng.poisson(rate_rps * seconds)))
    took = queue.service(rng, len(due)) / speed
    free = [0.0] * queue.servers
    found = []
    for at, service in zip(due.tolist(), took.tolist(), strict=True):
        end = max(at, free[0]) + service
        heapq.heapreplace(free, end)
        found.append(end - at)
    return np.array(found)[due >= head_s]


if __name__ == "__main__":
    raise SystemExit(main())
