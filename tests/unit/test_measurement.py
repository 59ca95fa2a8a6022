"""The course of one measurement, on a host without containers."""

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.builders import INI, spec
from tests.fake_bench import FakeWorld, Options, number, side
from tuner.errors import Aborted, Infrastructure, TargetFailed
from tuner.measurement import (
    Bench,
    LoadReading,
    SideSpec,
    Usage,
    counters_agree,
    window_of,
)
from tuner.model import Budget, Doubt, FailureCode, MeasurementResult
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.stats import Stats

SPEC = spec()
BUDGET = Budget(trials=1, confirm_blocks=4, cycles=3, window_s=1.0, warmup_s=0.5)
CANDIDATE = INI.replace("processes = 2", "processes = 4")


def bench(world: FakeWorld, aborted: Callable[[], bool] = lambda: False) -> Bench:
    return Bench(launcher=world.launcher, load=world.load, aborted=aborted)


def sides(second: str = CANDIDATE) -> list[SideSpec]:
    return [side(INI, SPEC.target), side(second, SPEC.target, index=1)]


def prepare(world: FakeWorld) -> MeasurementResult:
    larger = IniFile.parse(INI).patch({"processes": "4"}).dump()
    baseline, more = sides(larger)
    return bench(world).prepare(baseline, more, SPEC.workload, processes=2)


def fails_at(processes: int, code: FailureCode) -> Callable[[Options], FailureCode | None]:
    return lambda options: code if number(options, "processes") == processes else None


def test_each_cycle_has_a_window_of_every_side() -> None:
    result = bench(FakeWorld()).run_block(sides(), SPEC.workload, BUDGET, seed=3)
    assert [window.index for window in result.windows] == [0, 1, 2, 3, 4, 5]
    for cycle in (result.windows[0:2], result.windows[2:4], result.windows[4:6]):
        assert {window.side for window in cycle} == {0, 1}


def test_the_order_is_shuffled_anew_and_the_same_for_the_same_seed() -> None:
    def order(seed: int) -> list[int]:
        windows = bench(FakeWorld()).run_block(sides(), SPEC.workload, BUDGET, seed=seed).windows
        return [window.side for window in windows]

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(12)}) > 3


def test_the_result_names_the_files_that_ran() -> None:
    result = bench(FakeWorld()).run_block(sides(), SPEC.workload, BUDGET, seed=1)
    assert result.ini_sha256 == tuple(one.ini_sha256 for one in sides())
    assert len(set(result.ini_sha256)) == 2


def test_the_side_at_fault_is_named_and_nothing_is_left_running() -> None:
    for code in (FailureCode.NOT_STARTED, FailureCode.NOT_READY, FailureCode.OUT_OF_MEMORY):
        world = FakeWorld(fails=fails_at(4, code))
        with pytest.raises(TargetFailed) as caught:
            bench(world).run_block(sides(), SPEC.workload, BUDGET, seed=1)
        assert (caught.value.side, caught.value.code) == (1, code.value)
        assert not world.running


def test_a_hosts_fault_is_nobodys_side() -> None:
    world = FakeWorld(fails=fails_at(4, FailureCode.INFRASTRUCTURE))
    with pytest.raises(Infrastructure):
        bench(world).run_block(sides(), SPEC.workload, BUDGET, seed=1)
    assert not world.running


def test_a_block_that_is_called_off_stops_and_leaves_nothing() -> None:
    world = FakeWorld()
    calls = iter([False] * 4 + [True] * 99)
    with pytest.raises(Aborted):
        bench(world, lambda: next(calls)).run_block(sides(), SPEC.workload, BUDGET, seed=1)
    assert not world.running


def test_a_failure_after_calling_off_counts_as_calling_off() -> None:
    world = FakeWorld(fails=fails_at(4, FailureCode.NOT_READY))
    with pytest.raises(Aborted):
        bench(world, lambda: True).run_block(sides(), SPEC.workload, BUDGET, seed=1)


def test_prepare_finds_the_version_and_the_line_of_memory() -> None:
    result = prepare(FakeWorld())
    assert result.facts is not None
    assert result.facts.uwsgi_version == "2.0.31"
    assert result.facts.memory.per_process_mb == pytest.approx(12.0)
    assert result.facts.memory.base_mb == pytest.approx(10.0)


def test_where_more_processes_do_not_run_the_targets_own_hint_is_the_line() -> None:
    world = FakeWorld(fails=fails_at(4, FailureCode.OUT_OF_MEMORY))
    result = prepare(world)
    assert result.facts is not None
    assert result.facts.memory.per_process_mb == SPEC.target.memory_per_process_mb


def test_a_baseline_that_does_not_start_fails_the_preparation() -> None:
    world = FakeWorld(fails=fails_at(2, FailureCode.APP_FAILED))
    with pytest.raises(TargetFailed, match="app_failed"):
        prepare(world)


def stats(requests: int, respawns: int = 0) -> Stats:
    return Stats(
        processes=2,
        cores=4,
        accepting=2,
        cheap=0,
        requests=requests,
        respawns=respawns,
        running_us=requests * 10_000,
    )


READING = LoadReading(
    started_at=datetime(2026, 11, 21, tzinfo=UTC),
    duration_s=2.0,
    requests=400,
    errors_by_class={},
    latency_p50_ms=10.0,
    latency_p95_ms=20.0,
    latency_p99_ms=30.0,
    client_cpu_s=0.4,
    before=stats(100),
    after=stats(500),
    listen_overflows=0,
    time_wait=12,
    ports_exhausted=False,
)
BEFORE = Usage(cpu_s=1.0, periods=10, throttled_periods=0, memory_mb=50.0)
AFTER = Usage(cpu_s=2.5, periods=30, throttled_periods=5, memory_mb=60.0)


def judged(reading: LoadReading, *, shares_cpus: bool = False) -> tuple[Doubt, ...]:
    window = window_of(
        reading,
        BEFORE,
        AFTER,
        index=0,
        side=sides()[0],
        concurrency=8,
        client_cpus=1,
        shares_cpus=shares_cpus,
    )
    return window.doubts


def test_a_window_brings_client_server_and_kernel_together() -> None:
    window = window_of(
        READING,
        BEFORE,
        AFTER,
        index=0,
        side=sides()[0],
        concurrency=8,
        client_cpus=1,
        shares_cpus=False,
    )
    assert window.throughput_rps == 200
    assert window.served == 400
    assert window.client_cpu == pytest.approx(0.2)
    assert window.target_cpu == pytest.approx(0.75)
    assert window.throttled == pytest.approx(0.25)
    assert window.busy == pytest.approx(0.5)
    assert window.memory_mb == 60
    assert window.doubts == ()


@pytest.mark.parametrize(
    ("changes", "doubt"),
    [
        ({"client_cpu_s": 1.7}, Doubt.CLIENT_SATURATED),
        ({"errors_by_class": {"http_502": 3}, "requests": 397}, Doubt.ERRORS),
        ({"after": stats(540)}, Doubt.COUNTER_MISMATCH),
        ({"after": stats(440)}, Doubt.COUNTER_MISMATCH),
        ({"ports_exhausted": True}, Doubt.PORTS_EXHAUSTED),
        ({"after": stats(500, respawns=1)}, Doubt.DISTURBED),
    ],
)
def test_what_does_not_agree_becomes_a_doubt(changes: dict[str, object], doubt: Doubt) -> None:
    assert judged(replace(READING, **changes)) == (doubt,)  # type: ignore[arg-type]


def test_shared_cpus_are_a_doubt() -> None:
    assert judged(READING, shares_cpus=True) == (Doubt.SHARED_CPUS,)


@pytest.mark.parametrize(
    ("served", "agree"), [(10_000, True), (10_018, True), (10_019, False), (9_981, False)]
)
def test_counters_may_differ_by_a_thousandth_and_what_was_in_flight(
    served: int, agree: bool
) -> None:
    assert counters_agree(served, 10_000, 8) is agree


def test_windows_of_a_planted_world_follow_its_throughput() -> None:
    world = FakeWorld(throughput=lambda o: 100.0 * number(o, "processes"), noise_sd=0.001)
    windows = bench(world).run_block(sides(), SPEC.workload, BUDGET, seed=1).windows
    rates = [[w.throughput_rps for w in windows if w.side == n] for n in (0, 1)]
    assert math.isclose(sum(rates[1]) / sum(rates[0]), 2.0, rel_tol=0.02)
