"""The course of one measurement, on a host without containers."""

import math
from collections.abc import Callable

import pytest

from tests.builders import INI, block, spec
from tests.fake_bench import FakeWorld, Options, arm, number
from tuner.bench.measurement import ArmSpec, Bench, Preparation
from tuner.judge.objective import log_ratio
from tuner.judge.report import capacities
from tuner.nouns.errors import Aborted, Infrastructure, TargetFailed
from tuner.nouns.model import (
    BlockOptions,
    Budget,
    Capacity,
    CapacityLimit,
    ClosedLoop,
    FailureCode,
    Futility,
    Ladder,
    MeasurementResult,
    Metric,
)
from tuner.uwsgi.ini import IniFile

SPEC = spec()
BUDGET = Budget(trials=1, confirm_blocks=4, cycles=3, window_s=1.0, warmup_s=0.5)
CANDIDATE = INI.replace("processes = 2", "processes = 4")


def bench(world: FakeWorld, aborted: Callable[[], bool] = lambda: False) -> Bench:
    return Bench(launcher=world.launcher, load=world.load, aborted=aborted)


def arms(second: str = CANDIDATE) -> list[ArmSpec]:
    return [arm(INI, SPEC.target), arm(second, SPEC.target, index=1)]


def prepare(world: FakeWorld, arms_at_once: int = 2) -> MeasurementResult:
    larger = IniFile.parse(INI).patch({"processes": "4"}).dump()
    baseline, more = arms(larger)
    return Preparation(bench(world)).run(
        baseline, more, SPEC.workload, processes=2, arms_at_once=arms_at_once
    )


def fails_at(processes: int, code: FailureCode) -> Callable[[Options], FailureCode | None]:
    return lambda options: code if number(options, "processes") == processes else None


def test_each_cycle_has_a_window_of_every_arm() -> None:
    result = bench(FakeWorld()).run_block(arms(), SPEC.workload, BUDGET, seed=3)
    assert [window.index for window in result.windows] == [0, 1, 2, 3, 4, 5]
    for cycle in (result.windows[0:2], result.windows[2:4], result.windows[4:6]):
        assert {window.arm for window in cycle} == {0, 1}


def test_the_order_is_shuffled_anew_and_the_same_for_the_same_seed() -> None:
    def order(seed: int) -> list[int]:
        windows = bench(FakeWorld()).run_block(arms(), SPEC.workload, BUDGET, seed=seed).windows
        return [window.arm for window in windows]

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(12)}) > 3


def test_a_cpu_that_is_slow_in_some_windows_is_no_difference_between_equal_arms() -> None:
    world, budget = FakeWorld(noise_sd=0.0, speed_sd=0.4), BUDGET.model_copy(update={"cycles": 12})
    result = bench(world).run_block(arms(INI), SPEC.workload, budget, seed=1)
    windows = result.windows
    assert max(w.throughput_rps for w in windows) > 2 * min(w.throughput_rps for w in windows)
    ratio = log_ratio(block(windows), Metric.THROUGHPUT_RPS)
    assert ratio == pytest.approx(0, abs=0.005)  # requests are whole numbers


def test_the_result_names_the_files_that_ran() -> None:
    result = bench(FakeWorld()).run_block(arms(), SPEC.workload, BUDGET, seed=1)
    assert result.ini_sha256 == tuple(one.ini_sha256 for one in arms())
    assert len(set(result.ini_sha256)) == 2


def test_the_arm_at_fault_is_named_and_nothing_is_left_running() -> None:
    for code in (FailureCode.NOT_STARTED, FailureCode.NOT_READY, FailureCode.OUT_OF_MEMORY):
        world = FakeWorld(fails=fails_at(4, code))
        with pytest.raises(TargetFailed) as caught:
            bench(world).run_block(arms(), SPEC.workload, BUDGET, seed=1)
        assert (caught.value.arm, caught.value.code) == (1, code.value)
        assert not world.running


def test_a_hosts_fault_is_nobodys_arm() -> None:
    world = FakeWorld(fails=fails_at(4, FailureCode.INFRASTRUCTURE))
    with pytest.raises(Infrastructure):
        bench(world).run_block(arms(), SPEC.workload, BUDGET, seed=1)
    assert not world.running


def test_a_block_that_is_called_off_stops_and_leaves_nothing() -> None:
    world = FakeWorld()
    calls = iter([False] * 4 + [True] * 99)
    with pytest.raises(Aborted):
        bench(world, lambda: next(calls)).run_block(arms(), SPEC.workload, BUDGET, seed=1)
    assert not world.running


def test_a_failure_after_calling_off_counts_as_calling_off() -> None:
    world = FakeWorld(fails=fails_at(4, FailureCode.NOT_READY))
    with pytest.raises(Aborted):
        bench(world, lambda: True).run_block(arms(), SPEC.workload, BUDGET, seed=1)


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


def test_the_largest_block_of_the_job_has_to_fit_before_anything_starts() -> None:
    world = FakeWorld(most_arms=4)
    with pytest.raises(TargetFailed, match="5 arms"):
        prepare(world, arms_at_once=5)
    assert not world.launches


def test_a_block_has_to_fit_into_this_host() -> None:
    world = FakeWorld(most_arms=1)
    with pytest.raises(TargetFailed, match="2 arms"):
        bench(world).run_block(arms(), SPEC.workload, BUDGET, seed=1)
    assert not world.launches


def test_an_arm_that_fills_the_disk_ends_the_block() -> None:
    world = FakeWorld(fails=fails_at(4, FailureCode.OUT_OF_DISK))
    with pytest.raises(TargetFailed) as caught:
        bench(world).run_block(arms(), SPEC.workload, BUDGET, seed=1)
    assert (caught.value.arm, caught.value.code) == (1, FailureCode.OUT_OF_DISK)


def test_a_generator_that_dies_once_costs_one_more_try_and_no_window() -> None:
    world = FakeWorld(hiccups=1)
    no_warmup = BUDGET.model_copy(update={"warmup_s": 0.0})
    result = bench(world).run_block(arms(), SPEC.workload, no_warmup, seed=1)
    assert [window.index for window in result.windows] == [0, 1, 2, 3, 4, 5]


def test_a_generator_that_dies_twice_is_the_hosts_fault() -> None:
    no_warmup = BUDGET.model_copy(update={"warmup_s": 0.0})
    with pytest.raises(Infrastructure, match="load generator"):
        bench(FakeWorld(hiccups=2)).run_block(arms(), SPEC.workload, no_warmup, seed=1)


def test_a_ladder_has_a_window_of_every_rung_and_arm_in_each_cycle() -> None:
    ladder = Ladder(kind="ladder", concurrencies=(4, 16))
    windows = bench(FakeWorld()).run_block(arms(), ladder, BUDGET, seed=1).windows
    for cycle in (windows[0:4], windows[4:8], windows[8:12]):
        assert {(w.arm, w.connections) for w in cycle} == {(0, 4), (0, 16), (1, 4), (1, 16)}


def test_a_workload_that_cannot_be_carried_ends_the_preparation() -> None:
    with pytest.raises(TargetFailed, match="workload_refused") as refused:
        prepare(FakeWorld(fails=fails_at(2, FailureCode.WORKLOAD_REFUSED)))
    assert refused.value.arm == 0


def test_the_result_holds_what_every_arm_says_that_it_runs() -> None:
    result = bench(FakeWorld()).run_block(arms(), SPEC.workload, BUDGET, seed=1)
    assert result.effective_ini == (INI, CANDIDATE)


def test_a_steady_target_is_warmed_up_once() -> None:
    result = bench(FakeWorld()).run_block(arms(), SPEC.workload, BUDGET, seed=1)
    assert result.warmup_s == (BUDGET.warmup_s, BUDGET.warmup_s)


def test_windows_of_a_planted_world_follow_its_throughput() -> None:
    world = FakeWorld(throughput=lambda o: 100.0 * number(o, "processes"), noise_sd=0.001)
    windows = bench(world).run_block(arms(), SPEC.workload, BUDGET, seed=1).windows
    rates = [[w.throughput_rps for w in windows if w.arm == n] for n in (0, 1)]
    assert math.isclose(sum(rates[1]) / sum(rates[0]), 2.0, rel_tol=0.02)


def by_processes() -> FakeWorld:
    """Twice the processes serve twice as much, almost without noise."""
    return FakeWorld(throughput=lambda o: 100.0 * number(o, "processes"), noise_sd=0.001)


def futile_beyond(best: float) -> BlockOptions:
    return BlockOptions(futility=Futility(metric=Metric.THROUGHPUT_RPS, best=best, sd=0.01))


def test_windows_of_a_comparison_are_longer_where_requests_take_long() -> None:
    """8 connections: a request of the slow arm takes 0.8 s, one of the other 0.08 s."""
    world = FakeWorld(
        throughput=lambda o: 5.0 * number(o, "processes"), noise_sd=0, speed_sd=0, start_sd=0
    )
    both = arms(INI.replace("processes = 2", "processes = 20"))
    workload, budget = ClosedLoop(concurrency=8), BUDGET.model_copy(update={"window_s": 2.0})

    def lengths(options: BlockOptions) -> dict[int, float]:
        found = bench(world).run_block(both, workload, budget, seed=1, block_options=options)
        return {window.arm: round(window.duration_s, 1) for window in found.windows}

    assert lengths(BlockOptions(lengthens=True)) == {0: 4.0, 1: 2.0}
    assert lengths(BlockOptions()) == {0: 2.0, 1: 2.0}


def test_a_course_may_ask_for_another_number_of_cycles() -> None:
    result = bench(FakeWorld()).run_block(
        arms(), SPEC.workload, BUDGET, seed=1, block_options=BlockOptions(cycles=5)
    )
    assert (len(result.windows), result.is_cut_short) == (10, False)


def test_a_block_whose_candidate_cannot_win_is_cut_short_after_two_cycles() -> None:
    result = bench(by_processes()).run_block(
        arms(), SPEC.workload, BUDGET, seed=1, block_options=futile_beyond(math.log(3))
    )
    assert ([window.index for window in result.windows], result.is_cut_short) == (
        [0, 1, 2, 3],
        True,
    )


def test_a_block_whose_candidate_may_win_runs_to_its_end() -> None:
    result = bench(by_processes()).run_block(
        arms(), SPEC.workload, BUDGET, seed=1, block_options=futile_beyond(math.log(2))
    )
    assert (len(result.windows), result.is_cut_short) == (6, False)


def test_a_block_that_has_all_its_cycles_is_not_cut_short_however_far_behind() -> None:
    block_options = BlockOptions(cycles=2, futility=futile_beyond(5.0).futility)
    result = bench(by_processes()).run_block(
        arms(), SPEC.workload, BUDGET, seed=1, block_options=block_options
    )
    assert (len(result.windows), result.is_cut_short) == (4, False)


def test_a_ladder_is_cut_short_after_whole_cycles() -> None:
    ladder = Ladder(kind="ladder", concurrencies=(4, 16))
    result = bench(by_processes()).run_block(
        arms(), ladder, BUDGET, seed=1, block_options=futile_beyond(math.log(3))
    )
    assert (len(result.windows), result.is_cut_short) == (8, True)


def test_a_block_of_one_rung_has_windows_of_that_rung_alone() -> None:
    ladder = Ladder(kind="ladder", concurrencies=(4, 16, 64))
    result = bench(FakeWorld()).run_block(
        arms(), ladder, BUDGET, seed=1, block_options=BlockOptions(rung=16)
    )
    assert [window.connections for window in result.windows] == [16] * 2 * BUDGET.cycles


def test_a_block_finds_the_capacity_of_every_file() -> None:
    limit = CapacityLimit(latency_p95_ms=10)
    workload = Capacity(kind="capacity", limit=limit)
    result = bench(FakeWorld(noise_sd=0.0)).run_block(arms(), workload, BUDGET, seed=3)
    # The fake server's p95 is 1.3 / (1 - share of its 1000 requests/s) ms.
    for number_of_arm in (0, 1):
        windows = [window for window in result.windows if window.arm == number_of_arm]
        assert len(windows) > 6
        found = capacities.report(windows, limit)
        assert found.rps == pytest.approx(870, rel=0.02)
