"""A real worker that measures an invented host, in a process of its own that may be killed.

Store, queue, worker and study are the product's own. The host is a `FakeWorld` in which what is
measured again gives the same figures again: noise depends on the measurement's place in its job,
not on how often something was started. So whatever differs between a job that was disturbed and
one that was not is the product's doing.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess

from tests.builders import INI, space, spec
from tests.fake_bench import FakeLauncher, FakeLoad, FakeWorld, Options, number
from tuner.bench.measurement import LoadReading
from tuner.nouns.errors import Conflict
from tuner.nouns.model import Budget, FailureCode, JobId, Load, Target
from tuner.service import bootstrap, worker
from tuner.store.db import Store, conninfo, host_alive, make_engine
from tuner.store.queue import Queue, run_worker

HOST = "host-1"
POOL = "default"
ANOTHER_IS_AT_WORK = 4  # exit code: the server has not noticed yet that the one before is dead
ENDS_WITHIN_S = 10.0

SPEC = spec(
    baseline_ini=INI.replace("processes = 2", "processes = 6"),
    budget=Budget(
        trials=12,
        calibrate_blocks=4,
        race=3,
        race_blocks=4,
        ablate_runs=24,
        confirm_blocks=16,
        cycles=2,
        window_s=1.0,
        warmup_s=0.5,
    ),
    search_space=space(
        processes={"type": "int", "low": 1, "high": 16, "log": True},
        threads={"type": "choice", "values": [1, 2, 4]},
        **{"thunder-lock": {"type": "bool"}},
        logging={
            "type": "choice",
            "values": ["user", "errors-only"],
            "emit": {"errors-only": {"disable-logging": True, "log-5xx": True}},
        },
        vacuum={"type": "bool"},
    ).model_copy(
        update={
            "heuristics": (
                {"processes": 4, "threads": 2, "thunder-lock": True, "vacuum": True},
                {"processes": 16, "threads": 1},
            )
        }
    ),
    seed=7,
)
"""A job that goes through every phase, with options of every kind: useful, useless, deadly."""


def throughput(options: Options) -> float:
    """In requests per second: slots help up to 8, the lock 8 %, less logging 5 %."""
    slots = number(options, "processes") * number(options, "threads")
    rate = 100.0 * min(slots, 8) - 3.0 * max(0, slots - 8)
    rate *= 1.08 if options.get("thunder-lock") == "true" else 1.0
    return rate * (1.05 if options.get("disable-logging") == "true" else 1.0)


def does_not_fit(options: Options) -> FailureCode | None:
    """More than ten processes die of memory."""
    return FailureCode.OUT_OF_MEMORY if number(options, "processes") > 10 else None


def invented() -> FakeWorld:
    """The host of every such worker."""
    return FakeWorld(throughput=throughput, fails=does_not_fit, noise_sd=0.03, start_sd=0.015)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeatable(FakeLauncher):
    """Containers whose noise depends on the place of the measurement in its job.

    Its id would not do: numbers that a killed transaction has taken stay unused.
    """

    rows: Store

    def for_measurement(self, job: str, measurement: str) -> "Repeatable":
        """The same host at that place."""
        rows = self.rows.measurements(JobId(int(job)), detailed=False)
        sequence = next(row.sequence for row in rows if row.id == int(measurement))
        return replace(self, moment=f"measurement {sequence}")


@dataclass(frozen=True, slots=True)
class Announced(FakeLoad):
    """Load that says when it begins."""

    begins: Callable[[], None]

    def drive(self, running: object, target: Target, load: Load, duration_s: float) -> LoadReading:
        """A window of the invented throughput."""
        self.begins()
        return FakeLoad.drive(self, running, target, load, duration_s)


def worker_on(
    rows: Store, begins: Callable[[], None] = lambda: None, name: str = HOST
) -> worker.Worker:
    """The product's worker on the invented host; `begins` is called before every run of load."""
    world = invented()
    return worker.Worker(
        name=name,
        pool=POOL,
        store=rows,
        host=Repeatable(world, rows=rows),
        load=Announced(world, begins),
        decide=bootstrap.decide(),
    )


def work(url: str, host: str, pause_s: float, runs: ctypes.c_int) -> None:
    """What the process does: as `tuner.service.worker.run`, on the invented host.

    Every run of load takes `pause_s` and is counted in `runs`.
    """

    def begins() -> None:
        runs.value += 1
        time.sleep(pause_s)

    work_on(Store(make_engine(url), Queue()), url, host, begins)


def work_on(rows: Store, url: str, host: str, begins: Callable[[], None]) -> None:
    """Be the worker of that name until the process ends."""
    working = worker_on(rows, begins, host)
    try:
        with host_alive(url, host, POOL) as liveness:
            working.start()
            run_worker(working, liveness, conninfo=conninfo(url), pool=POOL, host=host)
    except Conflict:
        sys.exit(ANOTHER_IS_AT_WORK)


forking = multiprocessing.get_context("forkserver")
forking.set_forkserver_preload([__name__, "tuner.study.sampler"])  # seconds of imports, made once


@dataclass(slots=True)
class Killable:
    """A worker of a database, life after life."""

    url: str
    pause_s: float
    host: str = HOST
    _process: BaseProcess | None = None
    _runs: ctypes.c_int = field(default_factory=ctypes.c_int)

    @property
    def runs(self) -> int:
        """Runs of load that were begun in this life."""
        return self._runs.value

    @property
    def pid(self) -> int:
        """Of its present process."""
        assert self._process is not None
        assert self._process.pid is not None
        return self._process.pid

    def start(self) -> None:
        """Begin a life; the one before must have ended."""
        self._runs = forking.RawValue(ctypes.c_int, 0)  # without a lock that could die held
        arguments = (self.url, self.host, self.pause_s, self._runs)
        self._process = forking.Process(target=work, args=arguments, daemon=True)
        self._process.start()

    def keep(self) -> None:
        """Begin anew where it gave way, because the one before still seemed to live."""
        process = self._process
        if process is None or process.exitcode is None:
            return
        assert process.exitcode == ANOTHER_IS_AT_WORK, f"it ended by itself: {process.exitcode}"
        process.close()
        self.start()

    def gives_way(self) -> bool:
        """Wait for its end; whether it ended because another has its name."""
        assert self._process is not None
        self._process.join(ENDS_WITHIN_S)
        return self._process.exitcode == ANOTHER_IS_AT_WORK

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        os.kill(self.pid, number)

    def kill(self) -> bool:
        """SIGKILL, and wait until it is dead; whether there was something to kill."""
        process, self._process = self._process, None
        if process is None:
            return False
        process.kill()
        process.join(ENDS_WITHIN_S)
        was_killed = process.exitcode == -signal.SIGKILL
        process.close()
        return was_killed
