"""What polls cost: `make bench-polls`, or `python -m tests.benchmarks.polling`.

Pollers ask for the newest uwsgi.ini of ten apps, each with the tag that it has, and get 304: by due
time, 200 a second, each on a connection of its own as curl would. Then they ask for a running job
of 10 000 windows without a tag, as after a change. Latency counts from when a poll was due to the
last byte of its answer. The API is one process on one core; the pollers are another process on the
other cores, and so is PostgreSQL, which is real and has 10 000 trials in it. The promise is a p99
of 304 within 10 ms.
"""

import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from tests import finished_jobs
from tests.benchmarks import rig
from tests.postgres import fresh_database
from tuner.nouns.model import JobId, Measure, Trial
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue

P99_WITHIN_MS = 10.0
APPS = 10
WINDOWS_OF_A_BLOCK = 8
READY_WITHIN_S = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Poll:
    """One poll: how late it began, when its answer was whole, both since it was due."""

    late_ms: float
    latency_ms: float
    status: int


def main() -> int:
    """Run and print; 1 where the promise was not kept."""
    options = parsed()
    rig.begin()
    *others, core = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, others or {core})  # what is started from here on inherits it
    with fresh_database() as url:
        job = filled(url, options.trials, options.windows)
        with api(url, core) as server:
            wanted = [tagged(server.port, app) for app in apps()]
            polled(server.port, wanted, options.rate, options.warmup_s)
            before_s = server.cpu_s()
            polls = polled(server.port, wanted, options.rate, options.seconds)
            used = (server.cpu_s() - before_s) / options.seconds
            changed = [request(server.port, f"/v1/jobs/{job}")]
            polled(server.port, changed, options.job_rate, options.warmup_s)
            looks = polled(server.port, changed, options.job_rate, options.seconds)
    return report(options, polls, looks, used)


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--rate", type=float, default=200.0, help="polls that fall due a second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warmup-s", type=float, default=5.0)
    parser.add_argument("--windows", type=int, default=10_000, help="of the job that has changed")
    parser.add_argument("--job-rate", type=float, default=2.0, help="polls of that job a second")
    parser.add_argument("--trials", type=int, default=10_000, help="in the database, of all apps")
    return parser.parse_args()


def report(options: Namespace, polls: Sequence[Poll], looks: Sequence[Poll], used: float) -> int:
    """Print the figures; the exit code."""
    p99_ms = latencies_of(polls, f"{options.rate:g}/s, {options.trials} trials")
    rig.row("the API's core in use", f"{used:.0%}")
    kept = p99_ms <= P99_WITHIN_MS and {poll.status for poll in polls} == {304}
    rig.row(f"p99 within {P99_WITHIN_MS:g} ms, all 304", "kept" if kept else "NOT KEPT")
    latencies_of(looks, f"{options.job_rate:g}/s, a changed job of {options.windows} windows")
    return 0 if kept else 1


def latencies_of(polls: Sequence[Poll], what: str) -> float:
    """Print what came back, and when; the p99 in ms."""
    answers = Counter(poll.status for poll in polls)
    words = ", ".join(f"{count} answered {status}" for status, count in sorted(answers.items()))
    latencies = sorted(poll.latency_ms for poll in polls)
    late_ms = percentile(sorted(poll.late_ms for poll in polls), 0.99)
    rig.row("polls", f"{len(polls)} at {what}: {words}")
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("the longest", 1.0)):
        rig.row(f"{name}, ms", f"{percentile(latencies, share):.2f}")
    rig.row("of it, the poller's own delay, p99, ms", f"{late_ms:.2f}")
    return percentile(latencies, 0.99)


def percentile(ascending: Sequence[float], share: float) -> float:
    """The smallest value that so large a share does not exceed."""
    return ascending[max(0, -int(-share * len(ascending) // 1) - 1)]


def apps() -> list[str]:
    """Their names."""
    return [f"app-{number}" for number in range(APPS)]


def filled(url: str, trials: int, windows: int) -> JobId:
    """A finished job for every app, with its part of the trials; a running one with windows."""
    engine = make_engine(url)
    try:
        store = Store(engine, Queue())
        for number, app in enumerate(apps()):
            tried = finished_jobs.trials(trials // APPS - 1, parameters=8, seed=number)
            finished_jobs.stored(
                store, finished_jobs.recommendation(), app=app, steps=[_tried(tried)]
            )
        spec = finished_jobs.job(finished_jobs.recommendation()).spec
        running = store.create_job(spec, idempotency_key=None, request_sha256="")[0].job
        finished_jobs.measured(store, running.id, blocks=windows // WINDOWS_OF_A_BLOCK)
        return running.id
    finally:
        engine.dispose()


def _tried(trials: tuple[Trial, ...]) -> Measure:
    return Measure(plans=(), trials=trials)


@dataclass(frozen=True, slots=True)
class Server:
    """The API process."""

    port: int
    process: subprocess.Popen[bytes]

    def cpu_s(self) -> float:
        """CPU seconds that it has used so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def api(url: str, core: int, **environ: str) -> Iterator[Server]:
    """`tuner api` on one core, with more settings."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TUNER_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tuner.cli", "api"],
        env={**kept, "TUNER_DATABASE_URL": url, "TUNER_PORT": str(port), **environ},
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    try:
        _wait_until_it_answers(port)
        yield Server(port, process)
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_it_answers(port: int) -> None:
    until = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/healthz").raise_for_status()
            return
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def tagged(port: int, app: str) -> bytes:
    """The bytes of a poll by who has the newest file of an app."""
    path = f"/v1/apps/{app}/uwsgi.ini"
    answer = httpx.get(f"http://127.0.0.1:{port}{path}").raise_for_status()
    return request(port, path, f"If-None-Match: {answer.headers['etag']}\r\n")


def request(port: int, path: str, headers: str = "") -> bytes:
    """The bytes of a GET."""
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
    return f"{head}{headers}\r\n".encode()


def polled(port: int, wanted: Sequence[bytes], rate: float, seconds: float) -> list[Poll]:
    """Every poll of so many seconds, from a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_poll_all, (port, tuple(wanted), rate, seconds))


def _poll_all(port: int, wanted: Sequence[bytes], rate: float, seconds: float) -> list[Poll]:
    return asyncio.run(_by_due_time(port, wanted, rate, round(rate * seconds)))


async def _by_due_time(port: int, wanted: Sequence[bytes], rate: float, count: int) -> list[Poll]:
    start = time.perf_counter() + 0.1

    async def at(number: int) -> Poll:
        due = start + number / rate
        await asyncio.sleep(due - time.perf_counter())
        return await _poll(port, wanted[number % len(wanted)], due)

    return await asyncio.gather(*(at(number) for number in range(count)))


async def _poll(port: int, request: bytes, due: float) -> Poll:
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    ended = time.perf_counter()
    writer.close()
    status = int(answer.split(b" ", 2)[1]) if answer else 0
    return Poll(1000 * (began - due), 1000 * (ended - due), status)


if __name__ == "__main__":
    sys.exit(main())
