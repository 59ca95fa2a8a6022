"""The windows of a block that looks for the capacity of its files: which rate comes next.

The client waits for every answer, and after timeouts until uWSGI is idle: no probe meets the queue
of the one before.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tuner.bench.measurement.course import warming
from tuner.bench.measurement.driving import Driver
from tuner.judge import capacity
from tuner.nouns.model import Capacity, Load, Window

SATURATED_S = 2.5  # of a closed loop, where there was no warm-up
SEEDS = 2**31

Turn = tuple[Driver, Load, float]


@dataclass(slots=True)
class _Search:
    """The probes of one file."""

    driver: Driver
    workload: Capacity
    saturated_rps: float
    windows: list[Window] = field(default_factory=list)

    def next_turn(self, seed: int) -> Turn | None:
        """The probe to send next; None where the capacity is found, or there is none."""
        limit = self.workload.limit
        probes = capacity.probes_of(self.windows, limit)
        ask = None
        if len(self.windows) < capacity.MOST_PROBES:  # also where windows are void
            ask = capacity.next_probe(probes, limit, self.saturated_rps)
        if ask is None:
            return None
        return self.driver, self.workload.at(ask.rate_rps, seed), ask.seconds


def windows_of(
    drivers: Sequence[Driver],
    workload: Capacity,
    order: random.Random,
    send: Callable[[Sequence[Turn], int], Sequence[Window]],
) -> tuple[Window, ...]:
    """Probes of all files in shuffled alternation, until each has enough.

    Those of one round have one seed of arrivals. `send` makes one window of each turn.
    """
    searches = [_Search(driver, workload, _saturated_rps(driver)) for driver in drivers]
    found: list[Window] = []
    while True:
        seed = order.randrange(SEEDS)
        turns = [(each, turn) for each in searches if (turn := each.next_turn(seed)) is not None]
        if not turns:
            return tuple(found)
        shuffled = order.sample(turns, len(turns))
        windows = send([turn for _, turn in shuffled], len(found))
        for (search, _), window in zip(shuffled, windows, strict=True):
            search.windows.append(window)
        found += windows


def _saturated_rps(driver: Driver) -> float:
    """Requests per second of a closed loop."""
    warm_up = driver.last_warm_up or driver.drive(warming(driver.loads[0]), SATURATED_S)
    return max(1.0, warm_up.requests / warm_up.duration_s)
