"""A database as years leave it: `make bench-years`, or `python -m tests.benchmarks.years`.

Two databases in one PostgreSQL of its own have the same apps, the same running job and the same
queue; one has 1 000 trials, the other 103 000 with 2 million windows, of three years. Two API
processes answer the same calls of both, in turn, and the worker's statements run on both. The
promise: no median is more than twice as long with the many trials. A call whose answer itself is
longer, as of an app that has had more answers, is marked. The large one is filled in PostgreSQL 17
and upgraded; after the calls it is dumped and restored into a fresh PostgreSQL. Its answers have to
be the same bytes each time. At the end it is pruned, while a poller looks.
"""

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psycopg

from tests.benchmarks import rig
from tests.benchmarks.years_calls import CALLS, Site, answers, opened
from tests.filled_years import Years, fill
from tests.older_files import OLD, running
from tuner.nouns.model import BYTES_PER_MB, HOST_IS_STALE_AFTER
from tuner.store.db import EmbeddedPostgres, binaries, dumps, upgrading
from tuner.store.db.binaries import Home
from tuner.store.db.server import create

RATIO_AT_MOST = 2.0
SIZES = ("small", "large")
POLL_EVERY_S = 0.05
OK = 200
HOURLY = ("worker: nothing to prune",)
"""Once an hour: no promise, it looks at every job."""
MORE_TO_SAY = 1.5
"""Times as many bytes in an answer: then its time says little about the database."""


@dataclass
class Timed:
    """Of one call on one database: milliseconds, and the kB of its answer."""

    ms: list[float] = field(default_factory=list)
    kb: float = 0.0


Took = Mapping[str, Mapping[str, Timed]]
"""What was timed, by the size of the database."""


def main() -> int:
    """Run and print; 1 where a promise was not kept."""
    options = parsed()
    rig.begin()
    with folder() as home, ExitStack() as servers:
        large, is_upgraded = upgraded(home, options)
        url = servers.enter_context(server(home / "first")).url
        urls = {"small": database(url, "small"), "large": url}
        years = {"small": filled(urls["small"], "small", options), "large": large}
        time.sleep(HOST_IS_STALE_AFTER.total_seconds())  # then the hosts of both are gone
        with ExitStack() as stack:
            sites = {
                size: stack.enter_context(opened(urls[size], years[size], home / size))
                for size in SIZES
            }
            is_quick = report(timed(sites, options.times))
        is_equal = restored(urls["large"], years["large"], home)
        with opened(urls["large"], years["large"], home / "pruned") as site:
            pruned(site, f"{options.kept_days}d")
    return 0 if is_upgraded and is_quick and is_equal else 1


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--trials", type=int, default=103_000, help="in the large database")
    parser.add_argument("--few-trials", type=int, default=1_000, help="in the small one")
    parser.add_argument("--days", type=int, default=1_095, help="since the oldest job")
    parser.add_argument("--queued", type=int, default=100, help="jobs that wait, in both")
    parser.add_argument("--times", type=int, default=30, help="that each call is made")
    parser.add_argument("--kept-days", type=int, default=90, help="of windows, at the end")
    return parser.parse_args()


@contextmanager
def folder() -> Iterator[Path]:
    """A folder for servers, whose user may pass; it goes afterwards."""
    home = Path(tempfile.mkdtemp(prefix="tuner-years-"))
    home.chmod(0o711)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def upgraded(home: Path, options: Namespace) -> tuple[Years, bool]:
    """Fill a cluster of PostgreSQL 17 and bring it to ours; whether its answers are the same."""
    data = home / "first"
    Home(data).make(binaries.server_account())
    programs = upgrading.find(OLD, None, home / "programs", print)
    create(programs, Home(data).cluster, binaries.server_account())
    with running(data, programs) as url:
        dumps.upgrade(url)
        years = filled(url, "large", options)
        with opened(url, years, home / "of-17") as site:
            expected = answers(site)
    took_s = command({"TUNER_DATA_DIR": str(data)}, "db", "upgrade", "--old-bin", str(programs))
    rig.row(f"\nupgrade from PostgreSQL {OLD} to {binaries.MAJOR}", f"{took_s:.0f} s")
    with server(data) as ours, opened(ours.url, years, home / "of-18") as site:
        return years, is_same(expected, answers(site))


@contextmanager
def server(home: Path) -> Iterator[EmbeddedPostgres]:
    """PostgreSQL as `tuner serve` runs it."""
    with EmbeddedPostgres(home) as postgres:
        yield postgres


def database(url: str, name: str) -> str:
    """The URL of a new database with our tables."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    own = url.replace("/tuner?", f"/{name}?", 1)
    dumps.upgrade(own)
    return own


def filled(url: str, size: str, options: Namespace) -> Years:
    """Fill a database, and print with what."""
    trials = options.trials if size == "large" else options.few_trials
    began = time.monotonic()
    years = fill(url, trials=trials, days=options.days, queued=options.queued)
    what = f"{years.jobs} jobs, {years.trials} trials, {years.windows} windows, {mb(url):,.0f} MB"
    rig.row(f"{size}, filled in {time.monotonic() - began:.0f} s", what)
    return years


def mb(url: str) -> float:
    """The size of a database."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return float(row[0]) / BYTES_PER_MB


def timed(sites: Mapping[str, Site], times: int) -> Took:
    """Make each call twice without counting it, then so often on both; who is first changes."""
    took = {name: {size: Timed() for size in SIZES} for name in CALLS}
    for turn in range(-2, times):
        for name, call in CALLS.items():
            for size in SIZES if turn % 2 else reversed(SIZES):
                began = time.perf_counter()
                answer = call(sites[size])
                if turn >= 0:
                    took[name][size].ms.append(1000 * (time.perf_counter() - began))
                took[name][size].kb = len(answer or b"") / 1000
    return took


def report(took: Took) -> bool:
    """Print ms, kB and ratios; whether all are within the promise that have as much to say."""
    rig.row("\nms, median (middle half): small; large", "ratio")
    slow = []
    for name, of in took.items():
        few, many = (of[size] for size in SIZES)
        ratio = median(many.ms) / median(few.ms)
        has_more = many.kb > MORE_TO_SAY * few.kb
        if ratio > RATIO_AT_MOST and name not in HOURLY:
            slow.append(name)
        figures = f"{ratio:4.2f}  {rig.middle_half(few.ms, 1)}; {rig.middle_half(many.ms, 1)}"
        sizes = f"; {few.kb:.0f} kB, {many.kb:.0f} kB" if few.kb else ""
        rig.row(name, figures + sizes + (": has more to say" if has_more else ""))
    rig.row(f"all within {RATIO_AT_MOST:g}", f"NOT KEPT: {', '.join(slow)}" if slow else "kept")
    return not slow


def restored(url: str, years: Years, home: Path) -> bool:
    """Dump, restore into a fresh server, and compare answers; whether all bytes are the same."""
    file = home / "tuner.dump"
    rig.row("\ndump", f"{command(at(url), 'db', 'dump', str(file)):.0f} s")
    rig.row("its size, MB", f"{file.stat().st_size / BYTES_PER_MB:,.0f}")
    with server(home / "second") as second:
        took_s = command(at(second.url), "db", "restore", str(file))
        rig.row("restore into a fresh server", f"{took_s:.0f} s, {mb(second.url):,.0f} MB")
        with (
            opened(url, years, home / "before") as before,
            opened(second.url, years, home / "after") as after,
        ):
            expected, found = answers(before), answers(after)
    file.unlink()
    shutil.rmtree(home / "second", ignore_errors=True)
    return is_same(expected, found)


def is_same(expected: Mapping[str, bytes], found: Mapping[str, bytes]) -> bool:
    """Compare answers by path, and print how many differ."""
    unlike = [path for path, body in expected.items() if found[path] != body]
    size_mb = sum(map(len, expected.values())) / BYTES_PER_MB
    said = f"UNLIKE: {', '.join(unlike)}" if unlike else "all the same bytes"
    rig.row("answers before and after", f"{len(expected)}, {size_mb:.1f} MB: {said}")
    return not unlike


def at(url: str) -> Mapping[str, str]:
    """The environment of a command on that database."""
    return {"TUNER_DATABASE_URL": url}


def command(environ: Mapping[str, str], *words: str) -> float:
    """Seconds that a command of ours takes."""
    began = time.monotonic()
    argv = [sys.executable, "-m", "tuner.cli", *words]
    subprocess.run(argv, env=environ, check=True, capture_output=True)
    return time.monotonic() - began


def pruned(site: Site, age: str) -> None:
    """Remove old windows, then whole jobs; each time with the room for the disk, and without."""
    rig.row("\nbefore pruning, MB", f"{mb(site.url):,.0f}")
    windows, jobs = ("--older-than", age), ("--jobs-older-than", age)
    for words in (windows, (*windows, "--compact"), (*windows, *jobs, "--compact")):
        with polling(site) as seen:
            took_s = command(at(site.url), "db", "prune", *words)
        rig.row(f"prune {' '.join(words)}", f"{took_s:.0f} s, {mb(site.url):,.0f} MB after it")
        for name, polls in seen.items():
            took_ms = [each for each, status in polls if status == OK]
            most = f"at most {max(took_ms, default=0):.0f}, {len(polls) - len(took_ms)} refused"
            rig.row(f"  polls meanwhile, ms: {name}", f"{rig.middle_half(took_ms, 1)}, {most}")


@contextmanager
def polling(site: Site) -> Iterator[Mapping[str, Sequence[tuple[float, int]]]]:
    """Milliseconds and status of polls, one after the other, while the context lasts."""
    seen: dict[str, list[tuple[float, int]]] = {name: [] for name in ("best", "job", "jobs")}
    paths = {
        "best": f"/v1/apps/{site.app}/uwsgi.ini",
        "job": f"/v1/jobs/{site.years.newest}",
        "jobs": "/v1/jobs",
    }
    is_over = threading.Event()

    def poll() -> None:
        while not is_over.wait(POLL_EVERY_S):
            for name, path in paths.items():
                began = time.perf_counter()
                status = site.http.get(path).status_code
                seen[name].append((1000 * (time.perf_counter() - began), status))

    poller = threading.Thread(target=poll)
    poller.start()
    try:
        yield seen
    finally:
        is_over.set()
        poller.join()


if __name__ == "__main__":
    sys.exit(main())
