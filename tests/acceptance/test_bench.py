"""One measurement as the product makes it: real containers, real uWSGI, real oha."""

import threading
import time
from collections.abc import Iterator

import pytest

from tests import real_bench
from tests.patience import quickest
from tuner.bench.engine import DockerLauncher
from tuner.bench.measurement import Bench, Launcher, LoadGenerator, Preparation
from tuner.nouns.errors import Aborted, TargetFailed
from tuner.nouns.model import Budget, ClosedLoop, Doubt, FailureCode, MeasurementResult, OpenLoop

pytestmark = pytest.mark.docker

BUDGET = Budget(trials=1, confirm_blocks=4, cycles=2, window_s=1.0, warmup_s=0.5)
CLOSED = ClosedLoop(concurrency=16)


@pytest.fixture
def launcher() -> Iterator[DockerLauncher]:
    with real_bench.engine() as launcher:
        yield launcher


def bench(launcher: DockerLauncher) -> Bench:
    ours: Launcher = launcher.for_measurement("1", "7")
    load: LoadGenerator = real_bench.generators()
    return Bench(ours, load)


def test_a_block_has_every_window_and_the_counters_agree(launcher: DockerLauncher) -> None:
    arms = [
        real_bench.moody_arm(index=0),
        real_bench.moody_arm("threads = 2", "listen = 1024", "thunder-lock = true", index=1),
    ]
    result = bench(launcher).run_block(arms, CLOSED, BUDGET, seed=1)
    assert sorted(window.arm for window in result.windows) == [0, 0, 1, 1]
    assert_counters_agree(result)
    assert all(window.client_cpu > 0 for window in result.windows)
    assert all(window.target_cpu for window in result.windows)
    assert all(window.memory_mb for window in result.windows)
    assert len(result.ready_s) == 2
    assert all(0 < seconds < result.setup_s for seconds in result.ready_s)
    assert len(result.ini_sha256) == 2


def test_an_open_loop_block_keeps_its_rate(launcher: DockerLauncher) -> None:
    workload = OpenLoop(kind="open_loop", rate_rps=100, concurrency=32)
    result = bench(launcher).run_block([real_bench.moody_arm()], workload, BUDGET, seed=1)
    assert_counters_agree(result)
    for window in result.windows:
        assert window.sent == pytest.approx(100 * BUDGET.window_s, abs=3)


def test_prepare_tells_what_the_target_is(launcher: DockerLauncher) -> None:
    larger = real_bench.moody_arm("processes = 4", index=1)
    result = Preparation(bench(launcher)).run(real_bench.moody_arm(), larger, CLOSED, processes=2)
    facts = result.facts
    assert facts is not None
    assert facts.uwsgi_version.startswith("2.0.")
    assert {"processes", "threads", "thunder-lock", "listen"} <= set(facts.options)
    assert facts.image_digest.startswith("uwsgi-tuner/target-moody:")
    assert result.image_digest == facts.image_digest
    assert 0.5 <= facts.memory.per_process_mb < 50
    assert facts.fingerprint.cpus >= 1


def test_the_arm_at_fault_is_named(launcher: DockerLauncher) -> None:
    arms = [real_bench.moody_arm(index=0), real_bench.moody_arm("listen = 60000", index=1)]
    with pytest.raises(TargetFailed, match="somaxconn") as failed:
        bench(launcher).run_block(arms, CLOSED, BUDGET, seed=1)
    assert failed.value.arm == 1
    assert failed.value.code == FailureCode.BAD_OPTIONS


def test_calling_off_ends_a_block_within_two_seconds(launcher: DockerLauncher) -> None:
    assert quickest(2.0, lambda: calling_off_took(launcher)) < 2.0


def calling_off_took(launcher: DockerLauncher) -> float:
    """Seconds from the wish to the end of a block, 3 s after its begin."""
    wanted = threading.Event()
    wanted.set()
    started = bench(launcher)
    called_off = Bench(started.launcher, started.load, aborted=lambda: not wanted.is_set())
    ended: list[float] = []

    def measure() -> None:
        long = BUDGET.model_copy(update={"window_s": 30.0})
        with pytest.raises(Aborted):
            called_off.run_block([real_bench.moody_arm()], CLOSED, long, seed=1)
        ended.append(time.monotonic())

    thread = threading.Thread(target=measure)
    thread.start()
    time.sleep(3)
    began = time.monotonic()
    wanted.clear()
    launcher.kill_measurement("7")
    thread.join(20)
    assert ended
    return ended[0] - began


def assert_counters_agree(result: MeasurementResult) -> None:
    for window in result.windows:
        assert window.served == window.sent
        assert window.errors == 0
        assert not set(window.doubts) - OF_THE_HOST


OF_THE_HOST = {
    Doubt.SHARED_CPUS,
    Doubt.CLIENT_SATURATED,
    Doubt.NOISY_HOST,
    Doubt.NOT_STEADY,
    Doubt.THROTTLED,
}
"""What a busy machine may add; a disagreement of counters is never among it."""
