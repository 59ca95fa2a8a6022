"""How fast a CPU counts while something else runs on it.

On a shared host a CPU is up to twice as slow at times, for milliseconds or for minutes, likely
while another guest uses the other half of its physical core. No counter of the kernel shows it:
`steal` stays below 1 %. So a thread of ours counts on that CPU itself, some 1 % of the time. Its
own CPU time is the clock, so that waiting for the CPU does not count.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean, median

EVERY_S = 0.02
STEPS = 700  # some 50 us
_FEWEST = 5  # samples; fewer are no mean of a window


@dataclass(frozen=True, slots=True)
class Speeds:
    """Samples of one CPU: the time of each (seconds since the epoch), and steps per microsecond."""

    samples: list[tuple[float, float]] = field(default_factory=list)

    def mean(self, since: float, until: float) -> float | None:
        """The mean between two times; None for too few samples."""
        found = [speed for at, speed in self.samples if since <= at <= until]
        return fmean(found) if len(found) >= _FEWEST else None


@contextmanager
def sampled(cpu: int | None) -> Iterator[Speeds]:
    """Sample that CPU as long as the context runs; nothing for None, or one we may not run on."""
    speeds, ended = Speeds(), threading.Event()
    if cpu is None:
        yield speeds
        return
    thread = threading.Thread(target=_sample, args=(cpu, speeds, ended), name="cpu-speed")
    thread.start()
    try:
        yield speeds
    finally:
        ended.set()
        thread.join()


def _sample(cpu: int, speeds: Speeds, ended: threading.Event) -> None:
    try:
        os.sched_setaffinity(0, {cpu})  # 0: this thread alone
    except OSError:  # this process runs in a container with other CPUs
        return
    while not ended.wait(EVERY_S):
        _count(STEPS // 3)  # the caches are the target's at first
        # The median: an interrupt is charged to the thread that it hits.
        took_us = median(_count(STEPS) for _ in range(3))
        if took_us > 0:
            speeds.samples.append((time.time(), STEPS / took_us))


def _count(steps: int) -> float:
    """Microseconds of CPU time that so many steps take."""
    began, total = time.thread_time_ns(), 0
    for number in range(steps):
        total += number * number
    return (time.thread_time_ns() - began) / 1000
