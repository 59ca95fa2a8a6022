"""Services beside the arms of a measurement: they run in turn, and windows show them.

The fake load itself asserts that nothing is driven while the services of another arm run.
"""

import time

import pytest

from tests.builders import INI, spec
from tests.fake_bench import FakeTarget, FakeWorld, arm
from tuner.bench.measurement import ArmSpec, Bench, Preparation
from tuner.bench.measurement.driving import Driver, Stopwatch, services_running
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import (
    Budget,
    ClosedLoop,
    Doubt,
    FailureCode,
    MeasurementResult,
    Metric,
    Service,
)

CYCLES = 2
BUDGET = Budget(trials=1, confirm_blocks=4, cycles=CYCLES, window_s=1.0, warmup_s=0.5)
TARGET = spec().target.model_copy(update={"services": {"redis": Service(image="redis:7", cpus=1)}})
ARMS = [arm(INI, TARGET), arm(INI.replace("2", "4"), TARGET, index=1)]
LOAD = ClosedLoop(concurrency=8)
TURN = ("resume", "rest")


def block(world: FakeWorld) -> MeasurementResult:
    bench = Bench(launcher=world.launcher, load=world.load)
    return bench.run_block(ARMS, spec().workload, BUDGET, seed=1)


def driver(target: FakeTarget, spec: ArmSpec = ARMS[0]) -> Driver:
    metrics = frozenset({Metric.THROUGHPUT_RPS})
    loads = (ClosedLoop(),)
    return Driver(target.world.load, target, spec, loads, metrics, Stopwatch())


def test_services_rest_once_all_arms_are_ready_and_run_while_their_own_arm_is_driven() -> None:
    world = FakeWorld()
    block(world)
    assert world.moves[:2] == [("rest", 0), ("rest", 1)]
    turns = list(zip(world.moves[2::2], world.moves[3::2], strict=True))
    assert all((first[0], second[0]) == TURN and first[1] == second[1] for first, second in turns)
    driven = [first[1] for first, _ in turns]
    assert sorted(driven) == sorted([0, 1] * (1 + CYCLES))  # the warm-up, and each window


def test_the_preparation_drives_one_arm_after_the_other_too() -> None:
    world = FakeWorld()
    bench = Bench(launcher=world.launcher, load=world.load)
    Preparation(bench).run(ARMS[0], ARMS[1], spec().workload, processes=2)
    checked, looked_at = [("resume", 0), ("rest", 0)], [("resume", 1), ("rest", 1)]
    assert world.moves == [("rest", 0), ("rest", 1), *checked, *checked, *looked_at]


def test_services_rest_after_a_drive_that_failed() -> None:
    world = FakeWorld(fails=lambda options: FailureCode.DIED)
    with pytest.raises(TargetFailed, match="died"):
        driver(world.start(ARMS[1]), ARMS[1]).drive(LOAD, 1.0)
    assert [move for move, _ in world.moves] == ["resume", "rest"]


@pytest.mark.parametrize("first", [TargetFailed("died", "first"), Infrastructure("first")])
def test_the_failure_of_the_drive_counts_and_not_that_of_the_pause(
    monkeypatch: pytest.MonkeyPatch, first: Exception
) -> None:
    def cannot(target: FakeTarget) -> None:
        raise Infrastructure("the container is gone")

    monkeypatch.setattr(FakeTarget, "rest", cannot)
    running = FakeWorld().start(ARMS[0])
    with pytest.raises(type(first), match="first"), services_running(running):
        raise first
    with pytest.raises(Infrastructure, match="gone"), services_running(running):
        pass


def test_a_service_that_cannot_run_is_the_fault_of_its_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(target: FakeTarget) -> None:
        raise TargetFailed("died", "redis ended")

    monkeypatch.setattr(FakeTarget, "resume", ended)
    with pytest.raises(TargetFailed, match="redis") as caught:
        driver(FakeWorld().start(ARMS[1]), ARMS[1]).drive(LOAD, 1.0)
    assert caught.value.arm == 1


PAUSE_S = 0.3  # longer than a busy machine keeps a thread waiting


def test_a_pause_takes_no_time_of_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    for move in TURN:
        monkeypatch.setattr(FakeTarget, move, lambda target: time.sleep(PAUSE_S))
    running = driver(FakeWorld().start(ARMS[0]))
    running.drive(LOAD, 1.0)
    assert running.watch.load_s < PAUSE_S
    assert running.watch.setup_s >= 2 * PAUSE_S


def test_windows_show_what_services_use_and_mark_a_full_one() -> None:
    idle = block(FakeWorld(service_cores={"redis": 0.3})).windows
    assert all(window.services["redis"].cores == pytest.approx(0.3) for window in idle)
    for number in (0, 1):  # what a service has written grows from window to window of its arm
        written = [w.services["redis"].written_mb or 0.0 for w in idle if w.arm == number]
        assert 0 < written[0] < written[1]
    assert not any(Doubt.SERVICES_SATURATED in window.doubts for window in idle)
    full = block(FakeWorld(service_cores={"redis": 0.97})).windows
    assert all(window.services["redis"].cpu == pytest.approx(0.97) for window in full)
    assert all(Doubt.SERVICES_SATURATED in window.doubts for window in full)


def test_logs_are_read_for_the_cause_of_errors_only() -> None:
    world = FakeWorld(refusal="FATAL:  sorry, too many clients already")
    target = world.start(ARMS[0])
    good = driver(target).window(LOAD, 1.0, 0)
    assert (good.surroundings.refusal, good.doubts) == (None, ())
    world.errors_by_class = {"http_500": 3}
    bad = driver(target).window(LOAD, 1.0, 1)
    assert bad.surroundings.refusal == world.refusal
    assert Doubt.SERVICE_REFUSED in bad.doubts
