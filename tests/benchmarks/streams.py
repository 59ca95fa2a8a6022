"""What streams of events do: `make bench-events`, or `python -m tests.benchmarks.streams`.

First, polls of `best` alone. Then the same polls beside 200 open streams of a job whose blocks
change: how late is a change at each stream, counted from before its transaction to the arrival of
its event, and how much longer do polls take? Then blocks change while nobody listens, and 1 000
streams come back at one instant with the number of their last event, while more blocks change: does
each get every change, once and in order? API, PostgreSQL and pollers are placed as in
`bench-polls`. The promises: a p99 of 1 s, polls within twice their own p99, and nothing lost.
"""

import asyncio
import json
import multiprocessing
import os
import resource
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from tests.benchmarks import rig
from tests.benchmarks.polling import Poll, api, apps, filled, latencies_of, percentile, polled
from tests.benchmarks.polling import request as get
from tests.postgres import fresh_database
from tuner.nouns.model import (
    BASELINE,
    History,
    JobId,
    Measure,
    MeasurementId,
    MeasurementKind,
    Phase,
    Plan,
    Step,
)
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue

P99_WITHIN_MS = 1_000.0
SLOWER_AT_MOST = 2.0
WINDOWS = 800  # of the job whose blocks change
ALL_WITHIN_S = 60.0

Arrivals = Sequence[Sequence[tuple[int, int, float]]]
"""Of each stream: number, sequence of the block, and time on the machine's monotonic clock."""


@dataclass(frozen=True, slots=True)
class Change:
    """The claim of a block, and when its transaction began, on the machine's monotonic clock."""

    sequence: int
    began_s: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What was changed, and what arrived; `took_s` from the first connection to the last event."""

    changes: Sequence[Change]
    arrivals: Arrivals
    took_s: float = 0.0

    @property
    def late_ms(self) -> list[float]:
        """Of every change at every stream, ascending."""
        began_s = {change.sequence: change.began_s for change in self.changes}
        return sorted(
            1000 * (at_s - began_s[sequence])
            for stream in self.arrivals
            for _, sequence, at_s in stream
            if sequence in began_s
        )

    @property
    def incomplete(self) -> int:
        """Streams that have not got every change once and in order."""
        wanted = [change.sequence for change in self.changes]
        return sum([sequence for _, sequence, _ in stream] != wanted for stream in self.arrivals)


def main() -> int:
    """Run and print; 1 where a promise was not kept."""
    options = parsed()
    rig.begin()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # what is started inherits it
    *others, core = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, others or {core})
    with fresh_database() as url, opened(url) as store:
        job = filled(url, options.trials, WINDOWS)
        blocks = planned(store, job, round(options.seconds * options.changes) + 2 * options.missed)
        with api(url, core) as server:
            best = [get(server.port, f"/v1/jobs/{n + 1}/best") for n in range(len(apps()))]
            polled(server.port, best, options.rate, options.warmup_s)
            alone = polled(server.port, best, options.rate, options.seconds)
            before_s = server.cpu_s()
            beside, live = with_streams(options, server.port, job, store, blocks, best)
            used = (server.cpu_s() - before_s) / options.seconds
            last = max((number for stream in live.arrivals for number, _, _ in stream), default=0)
            back = come_back(options, server.port, job, store, blocks, last)
    rig.row("the API's core in use beside streams", f"{used:.0%}")
    return report(options, alone, beside, live, back)


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--reconnects", type=int, default=1_000, help="streams that come back")
    parser.add_argument("--changes", type=float, default=2.0, help="blocks that change a second")
    parser.add_argument("--missed", type=int, default=50, help="changes while nobody listens")
    parser.add_argument("--rate", type=float, default=100.0, help="polls of `best` a second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warmup-s", type=float, default=5.0)
    parser.add_argument("--trials", type=int, default=10_000, help="in the database, of all apps")
    return parser.parse_args()


def report(
    options: Namespace, alone: Sequence[Poll], beside: Sequence[Poll], live: Seen, back: Seen
) -> int:
    """Print the figures; the exit code."""
    own_ms = latencies_of(alone, f"{options.rate:g}/s, no stream is open")
    with_ms = latencies_of(beside, f"{options.rate:g}/s, {options.streams} streams are open")
    late = live.late_ms or [float("inf")]
    rig.row("changes x streams", f"{len(live.changes)} x {len(live.arrivals)}")
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("the latest", 1.0)):
        rig.row(f"change to arrival, {name}, ms", f"{percentile(late, share):.1f}")
    rig.row("streams that came back at once", f"{len(back.arrivals)} in {back.took_s:.1f} s")
    statuses = {poll.status for poll in (*alone, *beside)}
    promises = {
        f"a change reaches all, p99 within {P99_WITHIN_MS:g} ms": not live.incomplete
        and percentile(late, 0.99) <= P99_WITHIN_MS,
        f"polls within {SLOWER_AT_MOST:g} x their own p99": with_ms <= SLOWER_AT_MOST * own_ms
        and statuses == {200},
        "streams that came back lost nothing": not back.incomplete
        and len(back.arrivals) == options.reconnects,
    }
    for promise, is_kept in promises.items():
        rig.row(promise, "kept" if is_kept else "NOT KEPT")
    return 0 if all(promises.values()) else 1


def with_streams(
    options: Namespace,
    port: int,
    job: JobId,
    store: Store,
    blocks: Iterator[tuple[int, MeasurementId]],
    best: Sequence[bytes],
) -> tuple[list[Poll], Seen]:
    """Polls and changes beside open streams."""
    count = round(options.seconds * options.changes)
    with (
        listening(port, job, options.streams, None, count) as streams,
        ThreadPoolExecutor(1) as pool,
    ):
        streams.recv()  # all are open
        polling = pool.submit(polled, port, best, options.rate, options.seconds)
        changes = changed(store, blocks, count, 1 / options.changes)
        return polling.result(), Seen(changes, streams.recv())


def come_back(
    options: Namespace,
    port: int,
    job: JobId,
    store: Store,
    blocks: Iterator[tuple[int, MeasurementId]],
    last: int,
) -> Seen:
    """Changes, then streams that come back at once, and more changes meanwhile."""
    changes = changed(store, blocks, options.missed, 0)
    began = time.monotonic()
    with listening(port, job, options.reconnects, last, 2 * options.missed) as streams:
        changes += changed(store, blocks, options.missed, 0.1)
        streams.recv()
        arrivals: Arrivals = streams.recv()
    ends = [at_s for stream in arrivals for *_, at_s in stream]
    return Seen(changes, arrivals, max(ends, default=began) - began)


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """The store."""
    engine = make_engine(url)
    yield Store(engine, Queue())
    engine.dispose()


def planned(store: Store, job: JobId, count: int) -> Iterator[tuple[int, MeasurementId]]:
    """So many blocks that wait for a host: sequence and id."""
    first = 1 + max(block.sequence for block in store.measurements(job, detailed=False))
    plans = tuple(
        Plan(
            sequence=first + number,
            kind=MeasurementKind.BLOCK,
            phase=Phase.SEARCH,
            arms=(BASELINE,),
        )
        for number in range(count)
    )
    steps: list[Step] = [Measure(plans=plans)]

    def decide(history: History) -> Step | None:
        return steps.pop() if steps else None

    store.advance(job, decide)
    made = store.measurements(job, detailed=False)
    return iter([(block.sequence, block.id) for block in made if block.sequence >= first])


def changed(
    store: Store, blocks: Iterator[tuple[int, MeasurementId]], count: int, every_s: float
) -> list[Change]:
    """Have a host take so many blocks, one after the other."""
    found = []
    for _ in range(count):
        sequence, block = next(blocks)
        found.append(Change(sequence, time.monotonic()))
        store.claim(block, "bench")
        time.sleep(every_s)
    return found


@contextmanager
def listening(
    port: int, job: JobId, streams: int, last: int | None, count: int
) -> Iterator[Connection]:
    """Streams in a process of their own: it sends a word once all are open, then the arrivals."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_listen, args=(theirs, port, job, streams, last, count))
    process.start()
    try:
        yield ours
    finally:
        process.terminate()
        process.join()


def _listen(
    pipe: Connection, port: int, job: JobId, streams: int, last: int | None, count: int
) -> None:
    asyncio.run(_all(pipe, port, job, streams, last, count))


async def _all(
    pipe: Connection, port: int, job: JobId, streams: int, last: int | None, count: int
) -> None:
    came_back = "" if last is None else f"Last-Event-ID: {last}\r\n"
    wanted = get(port, f"/v1/jobs/{job}/events", came_back)
    found: list[list[tuple[int, int, float]]] = [[] for _ in range(streams)]
    are_open = [asyncio.Event() for _ in range(streams)]
    reading = [
        asyncio.create_task(_one(port, wanted, arrivals, is_open, count))
        for arrivals, is_open in zip(found, are_open, strict=True)
    ]
    with suppress(TimeoutError):
        async with asyncio.timeout(ALL_WITHIN_S):
            await asyncio.gather(*(is_open.wait() for is_open in are_open))
    pipe.send("open")
    _, missing = await asyncio.wait(reading, timeout=ALL_WITHIN_S + count)
    for task in missing:
        task.cancel()
    pipe.send(found)


async def _one(
    port: int,
    wanted: bytes,
    arrivals: list[tuple[int, int, float]],
    is_open: asyncio.Event,
    count: int,
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(wanted)
    while len(arrivals) < count and (line := await reader.readline()):
        if line.startswith(b"retry:"):
            is_open.set()
        if line.startswith(b"data:"):
            event = json.loads(line.removeprefix(b"data:"))
            if event["kind"] == "block":
                arrivals.append((event["id"], event["numbers"][0], time.monotonic()))
    writer.close()


if __name__ == "__main__":
    sys.exit(main())
