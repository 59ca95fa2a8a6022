"""One fault, struck at random moments of one job on the invented host. `faults.py` runs each alone.

PostgreSQL, queue, worker and study are real. The figures of a block depend on its place in the job
only, so a job under faults must end with the rows of one that nothing disturbed.

`python -m tests.benchmarks.scenes FAULT SEED` prints what became of the job as one line of JSON.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from tests import memory_box
from tests.killable_worker import SPEC, Killable
from tests.lossy_link import lossy_link, relay, relayed
from tests.postgres import fresh_database, server
from tests.recovery.test_full_disk import fill, small_disk
from tests.recovery.test_resume import (
    KILLS,
    figures,
    has_come_to,
    in_memory,
    wait_for_runs,
    wait_until,
)
from tuner.nouns.model import JobId, JobState, Phase
from tuner.store.db import EmbeddedPostgres, Store, dumps, make_engine
from tuner.store.queue import Queue

PAUSE_S = 0.03  # of every run of load; a block has six and more
MOST_RUNS = 10  # of load between two strikes
FEW = (Phase.CALIBRATE, Phase.SEARCH, Phase.ABLATE, Phase.CONFIRM)
WITHOUT_HELP = (Phase.ABLATE, Phase.CONFIRM)  # two hosts may search other files than one
AWAY_S = 60.0
FULL_S = 20.0
LOST = 0.1  # share of the packets, each way
CLOCK_SETTLES_S = 3.0
HOUR_S = 3600
SLEEP = "import select, time\ntime.sleep = lambda s: select.select((), (), (), s) and None\n"
"""libfaketime 0.9.10 breaks time.sleep of Python 3.11, which sleeps until a moment."""
LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


@dataclass(slots=True)
class Scene:
    """A job on a database of its own, with the worker that does it."""

    postgres: EmbeddedPostgres
    url: str
    dice: random.Random
    store: Store = field(init=False)
    job: JobId = field(init=False)
    worker: Killable = field(init=False)
    struck: list[Phase] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = Store(make_engine(self.url), Queue())
        self.job = self.store.create_job(SPEC, idempotency_key=None, request_sha256="0")[0].job.id
        self.worker = Killable(self.url, PAUSE_S)

    def strike(self, hit: Callable[[], None], phases: tuple[Phase, ...] = KILLS) -> None:
        """`hit` once for each of these phases, at a random moment after the job has come to it."""
        for phase in phases:
            wait_until(self.store, self.job, self.worker, has_come_to(phase))
            wait_for_runs(self.worker, self.dice.randint(0, MOST_RUNS))
            time.sleep(self.dice.uniform(0, 0.2))
            self.struck.append(self.store.job(self.job).phase)
            hit()

    def kill_worker(self) -> None:
        """SIGKILL; another begins at once."""
        self.worker.kill()
        self.worker.start()

    def kill_postgres(self) -> None:
        """SIGKILL of its first process; its children end by themselves."""
        assert self.postgres.pid is not None
        os.kill(self.postgres.pid, signal.SIGKILL)
        self.postgres.start()

    def kill_both(self) -> None:
        """At the same instant."""
        self.worker.kill()
        self.kill_postgres()
        self.worker.start()

    def stop_postgres(self) -> None:
        """Without PostgreSQL for a minute."""
        self.postgres.stop()
        time.sleep(AWAY_S)
        self.postgres.start()

    def start_rival(self) -> None:
        """Another worker of the same name has to give way."""
        rival = Killable(self.url, PAUSE_S)
        rival.start()
        assert rival.gives_way(), "two workers of one name are at work"

    def freeze_worker(self) -> None:
        """It hangs until its work is another host's, and wakes up while that one works.

        It may hang in a transaction, with the job locked.
        """
        other = Killable(self.url, PAUSE_S, host="host-2")
        self.worker.send(signal.SIGSTOP)
        other.start()
        wait_for_runs(other, 1)
        self.worker.send(signal.SIGCONT)
        wait_for_runs(other, self.dice.randint(0, MOST_RUNS))
        other.kill()

    def fill_disk(self, disk: Path) -> None:
        """No byte is left for PostgreSQL; the supervisor's part is to start it again."""
        fill(disk / "filler")
        with pytest.raises(psycopg.Error), psycopg.connect(self.url) as connection:
            connection.execute(
                "CREATE TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 9999)"
            )
        time.sleep(FULL_S)
        (disk / "filler").unlink()
        if self.postgres.poll() is not None:
            self.postgres.start()

    def eat_memory(self, box: Path) -> None:
        """A neighbour takes memory until the kernel kills the worker or PostgreSQL."""
        victim = self.dice.choice((self.worker.pid, self.postgres.pid))
        Path(f"/proc/{victim}/oom_score_adj").write_text("1000")  # not the neighbour
        memory_box.eat_until_one_is_killed(box)
        self.kill_worker()
        if self.postgres.poll() is not None:
            self.postgres.start()

    def set_clock(self, offset: Path, seconds: int) -> None:
        """Of all processes of this scene, PostgreSQL included."""
        offset.write_text(f"{seconds:+d}\n")
        time.sleep(CLOCK_SETTLES_S)

    def verdict(self) -> dict[str, object]:
        """What became of the job, and where it differs from one that nothing disturbed."""
        wait_until(self.store, self.job, self.worker, lambda job: job.state.is_final)
        ended = self.store.job(self.job)
        measured = self.store.measurements(self.job)
        memory, undisturbed = in_memory(at=ended.finished_at)
        expected = memory.measurements(undisturbed.id)
        differences = {
            "trials": self.store.trials(self.job) != memory.trials(undisturbed.id),
            "blocks": [*map(figures, measured)] != [*map(figures, expected)],
            "answer": ended.recommendation != undisturbed.recommendation,
            "open": any(one.is_open for one in measured),
            "state": ended.state is not JobState.SUCCEEDED,
        }
        return {
            "struck": dict(Counter(self.struck)),
            "state": ended.state,
            "blocks": len(measured),
            "again": sum(one.attempt - 1 for one in measured),
            "differs": [name for name, holds in differences.items() if holds],
        }


@contextmanager
def on_server(dice: random.Random, reached: Callable[[str], str] = str) -> Iterator[Scene]:
    """A scene on the server of the tests; `reached` turns its URL into the worker's way to it."""
    with fresh_database() as url:
        scene = Scene(server(), url, dice)
        scene.worker.url = reached(url)
        scene.worker.start()
        try:
            yield scene
        finally:
            scene.worker.kill()


def killed(hit: Callable[[Scene], None], phases: tuple[Phase, ...] = KILLS) -> "Fault":
    """A fault that needs nothing else."""

    def play(dice: random.Random) -> dict[str, object]:
        with on_server(dice) as scene:
            scene.strike(lambda: hit(scene), phases)
            return scene.verdict()

    return play


def full_disk(dice: random.Random) -> dict[str, object]:
    """The disk below the cluster runs full."""
    place = Path(tempfile.gettempdir()) / f"tuner-scene-{os.getpid()}"
    with small_disk(place) as disk, EmbeddedPostgres(disk) as postgres:
        dumps.upgrade(postgres.url)
        scene = Scene(postgres, postgres.url, dice)
        scene.worker.start()
        try:
            scene.strike(lambda: scene.fill_disk(disk), FEW[1:3])
            return scene.verdict()
        finally:
            scene.worker.kill()


def moved_clock(dice: random.Random) -> dict[str, object]:
    """An hour forward, back, an hour back, and right again."""
    offset = Path(os.environ["FAKETIME_TIMESTAMP_FILE"])
    offsets = iter((HOUR_S, 0, -HOUR_S, 0))
    with on_server(dice) as scene:
        scene.strike(lambda: scene.set_clock(offset, next(offsets)), FEW)
        return scene.verdict()


def eaten_memory(dice: random.Random) -> dict[str, object]:
    """All processes of the scene share a box of memory with a hungry neighbour."""
    with memory_box.entered() as box, on_server(dice) as scene:
        scene.strike(lambda: scene.eat_memory(box), FEW)
        return scene.verdict()


def lost_packets(dice: random.Random) -> dict[str, object]:
    """One packet of ten between worker and PostgreSQL is lost, each way, for the whole job."""
    with (
        lossy_link(LOST) as address,
        relay(server().url, address),
        on_server(dice, lambda url: relayed(url, address)) as scene,
    ):
        scene.strike(lambda: None, FEW)  # to see that all phases had the loss
        return scene.verdict()


Fault = Callable[[random.Random], dict[str, object]]

FAULTS: Mapping[str, Fault] = {
    "kill -9 of the worker": killed(Scene.kill_worker),
    "kill -9 of PostgreSQL": killed(Scene.kill_postgres),
    "kill -9 of both at once": killed(Scene.kill_both),
    "60 s without PostgreSQL": killed(Scene.stop_postgres, FEW[1:2]),
    "the disk of PostgreSQL is full for 20 s": full_disk,
    "the clock jumps by an hour, four times": moved_clock,
    "a second worker of the same name": killed(Scene.start_rival, FEW),
    "a worker hangs until another has its work": killed(Scene.freeze_worker, WITHOUT_HELP),
    "a neighbour eats the memory": eaten_memory,
    "10 % of the packets are lost": lost_packets,
}


def environ_of(fault: str, folder: Path) -> dict[str, str]:
    """What the process of a scene needs in its environment."""
    if FAULTS[fault] is not moved_clock:
        return {}
    offset = folder / "offset"
    offset.write_text("+0\n")
    (folder / "sitecustomize.py").write_text(SLEEP)
    return {
        "PYTHONPATH": str(folder),
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def missing(fault: str) -> str | None:
    """What this machine lacks for a fault; None: nothing."""
    if os.geteuid() != 0 and FAULTS[fault] in (full_disk, lost_packets, eaten_memory):
        return "root"
    if FAULTS[fault] is eaten_memory and not memory_box.may_be_made():
        return "cgroup v1"
    if FAULTS[fault] is moved_clock and LIBRARY is None:
        return "libfaketime"
    programs = ("ip", "iptables", "socat") if FAULTS[fault] is lost_packets else ()
    return next((program for program in programs if shutil.which(program) is None), None)


def main() -> None:
    """Play one scene."""
    fault, seed = sys.argv[1], int(sys.argv[2])
    began = time.monotonic()
    found = FAULTS[fault](random.Random(seed))  # noqa: S311
    print(json.dumps({**found, "minutes": round((time.monotonic() - began) / 60, 1)}))


if __name__ == "__main__":
    main()
