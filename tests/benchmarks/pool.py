"""How a pool grows with its hosts: `make bench-pool`, or `python -m tests.benchmarks.pool`.

1, 2, 4, 8 and 16 workers share one real PostgreSQL, queue and store. Their hosts are invented: a
window sleeps for `--window-s` instead of loading a container. Each pool gets as many equal jobs per
host, one every `--apart-s`: all at once, they would come to the same step at the same moment. What
counts is jobs an hour against one host, and how long the queue and the decisions take. All workers
share this machine's CPUs; on real hosts each has its own.

Then comes a pool of four in which, in the middle, one host is killed, one is drained, and two new
ones join. Each of its jobs must have the rows and the answer of one that nothing disturbed.
"""

import math
import os
import signal
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import psycopg

from tests.benchmarks import rig
from tests.benchmarks.journal import Journal, Row, arguments, complete
from tests.benchmarks.polling import percentile
from tests.benchmarks.pool_worker import SPEC, PoolWorker, Span, spans_in
from tests.postgres import as_superuser
from tests.recovery.test_resume import figures, in_memory
from tuner.nouns.model import JobId, JobState, MeasurementState, Recommendation
from tuner.store.db import EmbeddedPostgres, Store, dumps, make_engine
from tuner.store.queue import Queue

SIZES = (1, 2, 4, 8, 16)
PROMISED = {4: 3.6, 16: 13.0}  # times the jobs an hour of one host
ADVANCE_WITHIN_S = 0.1
SETTINGS = {"max_connections": "300", "shared_preload_libraries": "pg_stat_statements"}
DISTURBED_JOBS = 10
JOB_ENDS_WITHIN_S = 1800.0


@dataclass(slots=True)
class Pool:
    """Workers on one database, and the jobs that they have to do."""

    url: str
    folder: Path
    window_s: float
    store: Store
    postgres: int  # number of its first process
    workers: dict[str, PoolWorker]

    def start(self, *names: str) -> None:
        """More hosts join."""
        for name in names:
            self.workers[name] = PoolWorker(self.url, name, self.window_s, self.folder)

    def submit(self, count: int, apart_s: float = 0.0) -> list[JobId]:
        """Equal jobs, each of an app of its own, with pauses between them."""
        made = []
        for number in range(count):
            time.sleep(apart_s if number else 0.0)
            spec = SPEC.model_copy(update={"app": f"app-{number}"})
            status, _ = self.store.create_job(spec, idempotency_key=None, request_sha256="0")
            made.append(status.job.id)
        return made

    def wait(self, jobs: Sequence[JobId]) -> None:
        """Until all have ended."""
        began = time.monotonic()
        while any(not self.store.job(job).state.is_final for job in jobs):
            assert time.monotonic() - began < JOB_ENDS_WITHIN_S, self.store.jobs()
            time.sleep(0.5)

    def done(self) -> int:
        """Jobs that have ended."""
        return len(self.store.jobs(state=JobState.SUCCEEDED, limit=1000))


@contextmanager
def pool(window_s: float, *names: str) -> Iterator[Pool]:
    """These hosts, on a PostgreSQL of their own that writes as in production."""
    with tempfile.TemporaryDirectory(prefix="tuner-pool-") as place:
        folder = Path(place)
        folder.chmod(0o711)  # as root, the server runs as another user
        (folder / "spans").mkdir()
        with EmbeddedPostgres(folder / "data", settings=SETTINGS) as postgres:
            dumps.upgrade(postgres.url)
            engine = make_engine(postgres.url)
            assert postgres.pid is not None
            store = Store(engine, Queue())
            found = Pool(postgres.url, folder / "spans", window_s, store, postgres.pid, {})
            found.start(*names)
            try:
                yield found
            finally:
                for worker in found.workers.values():
                    worker.kill()
                engine.dispose()


def grown(size: int, options: Namespace) -> Row:
    """What a pool of that many hosts does in an hour."""
    names = [f"host-{number}" for number in range(1, size + 1)]
    with pool(options.window_s, *names) as found:
        found.wait(found.submit(size))  # imports, plans of statements, files of the database
        before, used_s = statements(found), cpu_s(found.postgres)
        began = time.time()
        jobs = found.submit(options.jobs * size, options.apart_s)
        found.wait(jobs)
        took_s, used_s = time.time() - began, cpu_s(found.postgres) - used_s
        calls = statements(found) - before
        spans = [span for span in spans_in(found.folder) if span.began >= began]
        assert all(found.store.job(job).state is JobState.SUCCEEDED for job in jobs)
        blocks = sum(len(found.store.measurements(job, detailed=False)) for job in jobs)
    advances = sorted(s.took_s - s.thought_s for s in spans if s.task == "advance")
    waits = sorted(waits_of(spans))
    return {
        "kind": "size",
        "hosts": size,
        "jobs": len(jobs),
        "blocks": blocks,
        "window_s": options.window_s,
        "apart_s": options.apart_s,
        "jobs_per_hour": 3600 * len(jobs) / took_s,
        "statements_per_s": calls / took_s,
        "postgres_cpus": used_s / took_s,
        "advance_p50_s": median(advances),
        "advance_p99_s": percentile(advances, 0.99),
        "wait_p50_s": median(waits),
        "wait_p99_s": percentile(waits, 0.99),
    }


def statements(found: Pool) -> int:
    """How many PostgreSQL has done."""
    with psycopg.connect(as_superuser(found.url)) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        row = connection.execute("SELECT sum(calls) FROM pg_stat_statements").fetchone()
    return int(row[0]) if row else 0


def cpu_s(first: int) -> float:
    """CPU time of a process and its children, the ended ones too, in seconds."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            number, _, rest = place.read_text().partition(" (")
            fields = rest.rpartition(") ")[2].split()  # from the state on
            if int(number) == first:
                ticks += sum(map(int, fields[11:15]))
            elif int(fields[1]) == first:
                ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def waits_of(spans: Sequence[Span]) -> Iterator[float]:
    """Seconds in the queue: from the end of a task to the start of the next one of its job."""
    of_job: dict[int, list[Span]] = {}
    for span in sorted(spans, key=lambda span: span.began):
        of_job.setdefault(span.job, []).append(span)
    for tasks in of_job.values():
        for earlier, later in pairwise(tasks):
            if {earlier.task, later.task} == {"advance", "measure"}:
                yield max(0.0, later.began - earlier.began - earlier.took_s)


def disturbed(window_s: float, count: int) -> Row:
    """A pool of four: after its first job, one host dies in a block, one is drained, two join."""
    with pool(window_s, "host-1", "host-2", "host-3", "host-4") as found:
        jobs = found.submit(count)
        while not found.done():
            time.sleep(0.2)
        dies = kill_in_a_block(found, jobs)
        leaves = next(name for name in found.workers if name != dies)
        found.store.drain(leaves, by=None)
        found.start("host-5", "host-6")
        found.wait(jobs)
        differ = [job for job in jobs if differs(found.store, job)]
        measured = [m for job in jobs for m in found.store.measurements(job, detailed=False)]
        drained = next(host for host in found.store.hosts() if host.name == leaves)
        late = [
            m.id
            for m in measured
            if m.host == leaves
            and m.started_at is not None
            and drained.drained_at is not None
            and m.started_at > drained.drained_at
        ]
    return {
        "kind": "disturbed",
        "jobs": len(jobs),
        "differ": differ,
        "again": sum(m.attempt - 1 for m in measured),
        "open": sum(m.is_open for m in measured),
        "late": late,
        "hosts": sorted({m.host for m in measured if m.host}),
    }


def kill_in_a_block(found: Pool, jobs: Sequence[JobId]) -> str:
    """SIGKILL a worker that measures; its name. It is frozen first: a block may end meanwhile."""
    while True:
        for name in at_work(found.store, jobs):
            worker = found.workers[name]
            worker.send(signal.SIGSTOP)
            if name in at_work(found.store, jobs):
                worker.kill()
                return name
            worker.send(signal.SIGCONT)


def at_work(store: Store, jobs: Sequence[JobId]) -> list[str]:
    """The hosts that measure a block just now."""
    measured = (m for job in jobs for m in store.measurements(job, detailed=False))
    running = (m.host for m in measured if m.state is MeasurementState.RUNNING)
    return sorted(host for host in running if host is not None)


def differs(store: Store, job_id: JobId) -> bool:
    """Whether its rows or its answer are others than those of a job that nothing disturbed."""
    ended = store.job(job_id)
    memory, undisturbed = in_memory(at=ended.finished_at, spec=SPEC)
    ours, theirs = (
        [replace(figures(one), job_id=undisturbed.id) for one in found]
        for found in (store.measurements(job_id), memory.measurements(undisturbed.id))
    )
    return (
        ours != theirs
        or store.trials(job_id) != memory.trials(undisturbed.id)
        or _nameless(ended.recommendation) != _nameless(undisturbed.recommendation)
    )


def _nameless(found: Recommendation | None) -> Recommendation | None:
    """An answer whose files do not name job and app, as their first line does."""
    if found is None:
        return None
    ini, overlay = (text.partition("\n")[2] for text in (found.uwsgi_ini, found.overlay_ini))
    return replace(found, uwsgi_ini=ini, overlay_ini=overlay)


def main() -> int:
    """Run what is missing, and report."""
    parser = arguments(__doc__)
    parser.add_argument("--window-s", type=float, default=1.0, help="a window sleeps so long")
    parser.add_argument("--jobs", type=int, default=1, help="of each host")
    parser.add_argument("--apart-s", type=float, default=0.4, help="between two submissions")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    options = parser.parse_args()

    def run(journal: Journal) -> None:
        known = {row["hosts"] for row in journal.rows() if row["kind"] == "size"}
        for size in options.sizes:
            if size not in known:
                journal.add(grown(size, options))
        if not any(row["kind"] == "disturbed" for row in journal.rows()):
            journal.add(disturbed(options.window_s, DISTURBED_JOBS))

    return complete("bench-pool", options, run, report)


def report(rows: Sequence[Row]) -> int:
    """Print the figures; 1 where a promise was not kept."""
    by_size = {row["hosts"]: row for row in rows if row["kind"] == "size"}
    one = by_size.get(1)
    kept = True
    for size, row in sorted(by_size.items()):
        times = row["jobs_per_hour"] / one["jobs_per_hour"] if one else math.nan
        rig.row(f"{size} hosts", f"{row['jobs_per_hour']:.1f} jobs/h, {times:.2f} times one host")
        load = f"{row['statements_per_s']:.0f}; {row['postgres_cpus']:.1%}"
        rig.row("  statements/s; PostgreSQL, of a CPU", load)
        for name, what in (("advance", "advance without thinking"), ("wait", "in the queue")):
            low, high = 1000 * row[f"{name}_p50_s"], 1000 * row[f"{name}_p99_s"]
            rig.row(f"  {what}, p50 and p99, ms", f"{low:.0f}, {high:.0f}")
        kept &= times >= PROMISED.get(size, 0.0)
        kept &= size != max(SIZES) or row["advance_p99_s"] <= ADVANCE_WITHIN_S
    for row in rows:
        if row["kind"] == "disturbed":
            rig.row("killed, drained, joined", f"{row['jobs']} jobs, {row['again']} blocks again")
            wrong = f"{row['differ']}; {row['open']}; {row['late']}"
            rig.row("  jobs that differ; open; begun after", wrong)
            kept &= not (row["differ"] or row["open"] or row["late"])
    is_whole = {1, *PROMISED} <= {*by_size} and len(rows) > len(by_size)
    said = ("kept" if kept else "NOT KEPT") if is_whole else "not all measured"
    rig.row("4 hosts 3.6 times, 16 hosts 13 times, 100 ms", said)
    return 0 if kept and is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
