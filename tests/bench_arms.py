"""Arms of the apps in `bench_apps`: what the traps, the classes and the benchmarks measure."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests import real_bench
from tuner.bench.load.generators import Generators
from tuner.bench.measurement import ArmSpec, Bench
from tuner.nouns.model import DEFAULT_COMMAND, Budget, Limits, Target

HTTP_SOCKET = "http-socket = :8000"
ONE_CPU = Limits(cpus=1.0, memory_mb=256)
SHORT = Budget(trials=1, confirm_blocks=4, cycles=2, window_s=1.5, warmup_s=0.5)

JOURNEY_IMAGE = "uwsgi-tuner/load-k6:1.8.1"


@contextmanager
def opened(**overrides: Any) -> Iterator[Bench]:
    """The product's own bench, with containers of an instance of its own."""
    with real_bench.engine(journey_image=JOURNEY_IMAGE, **overrides) as launcher:
        load = Generators(
            stats_address=real_bench.STATS_ADDRESS,
            ready_timeout_s=real_bench.READY_TIMEOUT_S,
        )
        yield Bench(launcher.for_measurement("1", "7"), load)


def target(app: str) -> Target:
    """An app of `bench_apps` that answers on port 8000."""
    return Target(
        target_app=app,
        port=8000,
        health_path="/",
        command=DEFAULT_COMMAND,
        thread_safe=True,
        memory_per_process_mb=12,
    )


def arm(
    app: str,
    *lines: str,
    front: str = HTTP_SOCKET,
    processes: int = 2,
    limits: Limits = ONE_CPU,
    index: int = 0,
) -> ArmSpec:
    """`app` behind `front`, with further lines in its file."""
    ini = (
        "[uwsgi]",
        front,
        "chdir = /app",
        f"wsgi-file = {app}.py",
        "master = true",
        f"processes = {processes}",
        "die-on-term = true",
        *lines,
    )
    return ArmSpec(index=index, ini="\n".join((*ini, "")), target=target(app), limits=limits)


def work(
    *lines: str,
    units: int = 0,
    wait_ms: int = 0,
    hold_mb: int = 0,
    plant: bool = False,
    slow_starts: int = 0,
    front: str = HTTP_SOCKET,
    processes: int = 2,
    limits: Limits = ONE_CPU,
    index: int = 0,
) -> ArmSpec:
    """The app `work` with that much work per request.

    Every number takes as many letters as any other: uWSGI's speed depends on the size of its
    environment.
    """
    environment = (
        f"env = UNITS={units:06}",
        f"env = WAIT_MS={wait_ms:06}",
        f"env = HOLD_MB={hold_mb:06}",
        f"env = PLANT={'yes' if plant else 'not'}",
        f"env = SLOW_STARTS={slow_starts:02}",
    )
    return arm(
        "work",
        *environment,
        *lines,
        front=front,
        processes=processes,
        limits=limits,
        index=index,
    )
