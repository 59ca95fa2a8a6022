"""Measurements that would publish a wrong number, on real containers: each must be noticed."""

import math
import os
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests import bench_arms, builders
from tests.bench_arms import SHORT
from tests.hog import hog
from tuner.bench.measurement import ArmSpec
from tuner.bench.measurement.driving import FOREIGN_ABOVE, STEAL_ABOVE
from tuner.judge import analysis
from tuner.judge.diagnosis import diagnose
from tuner.judge.objective import log_ratio
from tuner.nouns.model import (
    SERIES_STEP_S,
    Bottleneck,
    Budget,
    ClosedLoop,
    Doubt,
    HttpRequest,
    Limits,
    Measurement,
    MeasurementResult,
    Metric,
    TrialNumber,
    Window,
)

pytestmark = pytest.mark.docker


def block(
    *arms: ArmSpec,
    load: ClosedLoop,
    budget: Budget = SHORT,
    sysctls: dict[str, str] | None = None,
    beside: AbstractContextManager[None] | None = None,
) -> MeasurementResult:
    """One block as the product measures it, with something else going on `beside` it."""
    with bench_arms.opened(extra_sysctls=sysctls or {}) as bench:
        bench.launcher.inspect(arms[0].target)  # the first time it is built, which takes a while
        with beside or nullcontext():
            return bench.run_block(arms, load, budget, seed=1)


def closed(connections: int, path: str = "/", *, keep_alive: bool = False) -> ClosedLoop:
    request = HttpRequest(path=path)
    return ClosedLoop(concurrency=connections, keep_alive=keep_alive, requests=(request,))


def bottleneck(windows: tuple[Window, ...], limits: Limits, slots: int) -> Bottleneck:
    """What the product says is in the way."""
    connections = windows[0].connections
    found = diagnose(windows, limits, processes=slots, threads=1, connections=connections)
    return found.bottleneck


def test_an_app_that_answers_500_to_one_request_in_twenty() -> None:
    result = block(bench_arms.arm("flawed"), load=closed(16, "/fails"))
    for window in result.windows:
        assert set(window.errors_by_class) == {"http_500"}
        assert Doubt.ERRORS in window.doubts
        assert 0.04 <= window.error_rate <= 0.06
        assert not window.is_void
    assert bottleneck(result.windows, bench_arms.ONE_CPU, 2) is Bottleneck.APP_ERRORS


def test_an_app_that_resets_one_connection_in_fifty() -> None:
    result = block(bench_arms.arm("flawed"), load=closed(16, "/resets"))
    for window in result.windows:
        assert set(window.errors_by_class) <= {"reset", "early_close"}
        assert Doubt.ERRORS in window.doubts
        assert 0.01 <= window.error_rate <= 0.03
    assert bottleneck(result.windows, bench_arms.ONE_CPU, 2) is Bottleneck.APP_ERRORS


def test_http11_socket_with_more_connections_than_workers_never_counts() -> None:
    arm = bench_arms.arm("flawed", front="http11-socket = :8000", processes=2)
    result = block(arm, load=closed(8, keep_alive=True))
    for window in result.windows:
        assert window.requests > 100  # it looks excellent: no error, no slow answer
        assert window.errors == 0
        assert window.stalled >= 4
        assert Doubt.UNFINISHED_CONNECTIONS in window.doubts
        assert window.is_void


def test_http11_socket_with_a_worker_for_every_connection_does_count() -> None:
    arm = bench_arms.arm("flawed", "threads = 2", front="http11-socket = :8000", processes=4)
    result = block(arm, load=closed(8, keep_alive=True))
    for window in result.windows:
        assert window.stalled == 0
        assert not window.is_void


def test_a_listen_queue_of_8_under_200_connections() -> None:
    arm = bench_arms.work("listen = 8", wait_ms=1, processes=4)
    result = block(arm, load=closed(200))
    for window in result.windows:
        assert window.listen_overflows > 0
        assert window.server.queue_size == 8
        assert (window.server.queue_max or 0) > 4  # of a few looks
        assert waited_for_a_second_syn(window)
    assert bottleneck(result.windows, arm.limits, 4) is Bottleneck.BACKLOG


def waited_for_a_second_syn(window: Window) -> bool:
    """A dropped SYN is sent again after a second: somebody gave up or waited for that long."""
    times_ms = [window.latency_p99_ms or 0.0, window.connect.max_ms if window.connect else 0.0]
    return "connect_timeout" in window.errors_by_class or max(times_ms) >= 1000


def test_a_client_that_runs_out_of_ports() -> None:
    # http11-socket leaves closing to the client, so that the client's ports stay in TIME_WAIT:
    # what a published port does to a client on the host.
    arm = bench_arms.arm("flawed", "threads = 4", front="http11-socket = :8000", processes=2)
    few = {"net.ipv4.tcp_tw_reuse": "0", "net.ipv4.ip_local_port_range": "40000 40399"}
    cold = SHORT.model_copy(update={"warmup_s": 0.0})
    result = block(arm, load=closed(8), budget=cold, sysctls=few)
    assert result.windows[0].served  # until the last port was used up
    for window in result.windows:
        assert window.errors_by_class["ports_exhausted"] > 0
        assert Doubt.PORTS_EXHAUSTED in window.doubts
        assert window.is_void


def test_a_generator_on_the_target_s_own_cpus() -> None:
    limits = Limits(cpus=os.cpu_count() or 1, memory_mb=256)
    result = block(bench_arms.work(units=20, limits=limits), load=closed(16))
    for window in result.windows:
        assert Doubt.SHARED_CPUS in window.doubts
        assert window.surroundings.cpu_speed is None
        assert (Doubt.CLIENT_SATURATED in window.doubts) == (window.client_cpu > 0.8)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_an_app_that_starts_slow_in_4_of_10_cases_is_called_unstable() -> None:
    """And the steady one beside it is not. A machine that is shaken for a while has a second go."""
    called: list[set[TrialNumber]] = []
    while len(called) < 3 and {1} not in called:
        called.append(analysis.unstable_arms(starts_of_both()))
    assert {1} in called, called


def starts_of_both() -> list[Measurement]:
    """Ten starts or more of a steady app and of one that starts slow in 4 of 10 cases."""
    steady = bench_arms.work(units=500)
    unstable = bench_arms.work(units=500, slow_starts=4, index=1)
    # Arms that take turns are shaken alike, as in jobs.
    budget = SHORT.model_copy(update={"cycles": 4, "window_s": 0.5, "warmup_s": 0.25})
    starts: list[Measurement] = []
    # Chance decides which starts are slow: some more, where it gave fewer than two of a kind.
    while len(starts) < 10 or (fewest_of_a_kind(starts) < 2 and len(starts) < 16):
        result = block(steady, unstable, load=closed(16), budget=budget)
        starts.append(builders.block(result.windows, sequence=len(starts) + 1))
    assert fewest_of_a_kind(starts) >= 2
    return starts


def fewest_of_a_kind(starts: Sequence[Measurement]) -> int:
    """Of slow and of normal starts of arm 1, against arm 0 of the same block."""
    ratios = [log_ratio(start, Metric.THROUGHPUT_RPS) for start in starts]
    slow = sum(ratio is not None and ratio < math.log(0.85) for ratio in ratios)
    return min(slow, len(starts) - slow)


def test_a_neighbour_that_takes_40_percent_of_a_cpu_for_half_of_the_run() -> None:
    budget = SHORT.model_copy(update={"cycles": 18, "window_s": 1.0})
    cpu = min(os.sched_getaffinity(0))
    neighbour = Neighbour(cpu=cpu, comes_after_s=8.0, stays_s=10.0)
    arm = bench_arms.work(units=500, limits=Limits(cpus=1, memory_mb=256, cpuset=str(cpu)))
    of_the_machine = busy_cpus(2.0)
    result = block(arm, load=closed(16), budget=budget, beside=neighbour)
    beside = [window for window in result.windows if neighbour.was_there_all(window)]
    alone = [window for window in result.windows if neighbour.was_away_all(window)]
    assert len(beside) >= 3
    assert len(alone) >= 3
    assert all(Doubt.NOISY_HOST in window.doubts for window in beside)
    speeds = [window.surroundings.cpu_speed or 0.0 for window in result.windows]
    assert min(speeds) > 1  # a thread that waits for the CPU does not count as a slow CPU
    if of_the_machine < FOREIGN_ABOVE / 2:  # else the neighbour takes its share from other work
        assert foreign_cpu(beside) - foreign_cpu(alone) == pytest.approx(0.4, abs=0.2)
        quiet = [window for window in alone if (window.surroundings.steal or 0.0) <= STEAL_ABOVE]
        assert sum(Doubt.NOISY_HOST in window.doubts for window in quiet) <= 1


def foreign_cpu(windows: Sequence[Window]) -> float:
    """CPUs that something else than the bench used, as the windows have it: their median."""
    return statistics.median(window.surroundings.foreign_cpu or 0.0 for window in windows)


def busy_cpus(seconds: float) -> float:
    """CPUs that are used on this machine, by its own count, while the test does nothing."""
    before = cpu_times()
    time.sleep(seconds)
    return (cpu_times() - before) / seconds


def cpu_times() -> float:
    """Seconds that all CPUs have been used or taken away, from /proc/stat."""
    _, user, nice, system, _, _, irq, softirq, steal = (
        Path("/proc/stat").read_text().split(maxsplit=9)[:9]
    )
    ticks = sum(map(int, (user, nice, system, irq, softirq, steal)))
    return ticks / os.sysconf("SC_CLK_TCK")


class Neighbour(AbstractContextManager[None]):
    """A hog that comes in the middle of a measurement and leaves before its end, or with it."""

    def __init__(self, *, cpu: int, comes_after_s: float, stays_s: float) -> None:
        self._cpu, self._comes_after_s, self._stays_s = cpu, comes_after_s, stays_s
        self._thread = threading.Thread(target=self._visit)
        never = datetime.max.replace(tzinfo=UTC)
        self._comes = self._came = self._leaves = self._left = never
        self._over = threading.Event()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def was_there_all(self, window: Window) -> bool:
        return self._came <= window.started_at and ended_at(window) <= self._leaves

    def was_away_all(self, window: Window) -> bool:
        return ended_at(window) <= self._comes or window.started_at >= self._left

    def _visit(self) -> None:
        if self._over.wait(self._comes_after_s):
            return
        self._comes = datetime.now(UTC)
        with hog(self._cpu, 0.4, longest_s=60.0):
            self._came = datetime.now(UTC)
            self._over.wait(self._stays_s)
            self._leaves = datetime.now(UTC)
        self._left = datetime.now(UTC)


def ended_at(window: Window) -> datetime:
    """With the head, which `duration_s` leaves out."""
    return window.started_at + timedelta(seconds=len(window.series) * SERIES_STEP_S)
