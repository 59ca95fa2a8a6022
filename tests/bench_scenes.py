"""For each bottleneck, an app and a setting that provoke it."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench_arms import SHORT, arm, work
from tuner.bench.measurement import ArmSpec, Bench
from tuner.judge import diagnosis
from tuner.nouns.model import (
    Bottleneck,
    Budget,
    ClosedLoop,
    Diagnosis,
    HttpRequest,
    Journey,
    Limits,
    MeasurementResult,
    Window,
    Workload,
    connections,
)

TWO_CPUS = Limits(cpus=2.0, memory_mb=256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """An arm under a load, and what then is in the way. The arm runs `processes` * `threads`."""

    bottleneck: Bottleneck
    arm: ArmSpec
    load: Workload
    processes: int
    threads: int = 1
    budget: Budget = SHORT

    def play(self, bench: Bench, *, seed: int) -> MeasurementResult:
        """One block of it."""
        return bench.run_block([self.arm], self.load, self.budget, seed=seed)

    def diagnosed(self, windows: Sequence[Window]) -> Diagnosis:
        """What the product says is in the way."""
        return diagnosis.diagnose(
            windows,
            self.arm.limits,
            processes=self.processes,
            threads=self.threads,
            connections=connections(self.load),
        )


def _closed(connections: int, path: str = "/") -> ClosedLoop:
    return ClosedLoop(concurrency=connections, requests=(HttpRequest(path=path),))


SCENES = (
    Scene(
        bottleneck=Bottleneck.CPU_QUOTA,
        arm=work(units=1000, processes=4),
        load=_closed(32),
        processes=4,
    ),
    Scene(
        # One process computes on one of the two CPUs that it may use.
        bottleneck=Bottleneck.GIL,
        arm=work("threads = 4", units=1000, processes=1, limits=TWO_CPUS),
        load=_closed(32),
        processes=1,
        threads=4,
    ),
    Scene(
        bottleneck=Bottleneck.IO_WAIT,
        arm=work(wait_ms=20),
        load=_closed(32),
        processes=2,
    ),
    Scene(
        # Whoever finds the queue full comes again after a second; until then nobody is served.
        bottleneck=Bottleneck.BACKLOG,
        arm=work("listen = 8", wait_ms=1, processes=4),
        load=_closed(200),
        processes=4,
    ),
    Scene(
        bottleneck=Bottleneck.MEMORY,
        arm=work(hold_mb=116, wait_ms=15),
        load=_closed(16),
        processes=2,
    ),
    Scene(
        # Kept connections are cheap for the client, not for the router: it opens one for each
        # request to the workers. With a log the engine would need half a CPU of the two. One
        # worker is enough: a second would take CPU from the router.
        bottleneck=Bottleneck.ROUTER,
        arm=work(
            *("http-keepalive = 1", "disable-logging = true"),
            front="http = :8000",
            limits=TWO_CPUS,
            processes=1,
        ),
        load=ClosedLoop(concurrency=64, keep_alive=True),
        processes=1,
    ),
    Scene(
        # The log is a pipe that takes 500 lines a second.
        bottleneck=Bottleneck.LOG_SINK,
        arm=work("logto = /app/requests.fifo", "attach-daemon = python3 /app/drain.py 500"),
        load=_closed(32),
        processes=2,
    ),
    Scene(
        # Every connection wakes up all who wait for one: 40 switches a request, where 4 tell.
        bottleneck=Bottleneck.LOCK_CONTENTION,
        arm=work(processes=96, limits=Limits(cpus=1.0, memory_mb=1024)),
        load=_closed(4),
        processes=96,
    ),
    Scene(
        # k6 takes several times the CPU that the app needs for an answer.
        bottleneck=Bottleneck.LOAD_GENERATOR,
        arm=arm("flawed", processes=4),
        load=Journey(kind="journey", users=16, requests=(HttpRequest(), HttpRequest(path="/a"))),
        processes=4,
        budget=SHORT.model_copy(update={"warmup_s": 1.0}),
    ),
    Scene(
        bottleneck=Bottleneck.APP_ERRORS,
        arm=arm("flawed"),
        load=_closed(16, "/fails"),
        processes=2,
    ),
)
