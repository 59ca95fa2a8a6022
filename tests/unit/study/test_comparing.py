"""The course of a comparison and of a calibration, on a host without containers."""

from hashlib import sha256
from typing import Any

import pytest

from tests.builders import INI, spec
from tests.fake_bench import FakeWorld, Options, number
from tests.unit.study.test_whole_study import run
from tuner.nouns.model import (
    LONGER_AT_MOST,
    Budget,
    FailureCode,
    HttpRequest,
    Job,
    JobKind,
    JobSpec,
    JobState,
    Ladder,
    Limits,
    MeasurementKind,
    Metric,
    Paths,
    Phase,
    Rung,
    TrialState,
    Variant,
    Verdict,
)


def comparison(*inis: str, blocks: int = 6, **changes: Any) -> JobSpec:
    """A job that compares these files, called a, b, c ..."""
    variants = tuple(Variant(name="abcdef"[index], ini=ini) for index, ini in enumerate(inis))
    budget = Budget(trials=0, confirm_blocks=0, compare_blocks=blocks, cycles=2, window_s=1.0)
    return spec(
        kind=JobKind.COMPARE,
        variants=variants,
        baseline_ini=variants[0].ini,
        budget=budget,
        search_space=None,
        **changes,
    )


def with_processes(count: int) -> str:
    return f"[uwsgi]\nmaster = true\nprocesses = {count}\n"


def by_processes(options: Options) -> float:
    return 100.0 * number(options, "processes")


def arms_of(store: Any, job: Job) -> list[tuple[int, ...]]:
    return [m.arms for m in store.measurements(job.id) if m.kind is MeasurementKind.BLOCK]


def test_files_are_compared_in_the_same_blocks_and_reported() -> None:
    world = FakeWorld(throughput=by_processes)
    store, job = run(world, comparison(with_processes(2), with_processes(3), blocks=6))
    assert (job.state, job.phase) == (JobState.SUCCEEDED, Phase.DONE)
    assert job.report is not None
    assert [arm.name for arm in job.report.arms] == ["a", "b"]
    assert job.report.blocks == 6
    effect = next(e for e in job.report.arms[1].effects if e.metric is Metric.THROUGHPUT_RPS)
    assert effect.ci_low < 0.5 < effect.ci_high
    assert arms_of(store, job) == [(0, 1)] * 6


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_the_number_of_blocks_is_what_was_asked_for(blocks: int) -> None:
    store, job = run(FakeWorld(throughput=by_processes), comparison(INI, blocks=blocks))
    assert job.state is JobState.SUCCEEDED
    assert arms_of(store, job) == [(0,)] * blocks


def test_each_arm_runs_the_very_file_that_was_given() -> None:
    odd = "[uwsgi]\n; kept as it is\nprocesses  =3\nprocesses = 4\n"
    store, job = run(FakeWorld(throughput=by_processes), comparison(INI, odd, blocks=1))
    result = store.measurements(job.id)[-1].result
    assert result is not None
    assert result.ini_sha256 == tuple(sha256(ini.encode()).hexdigest() for ini in (INI, odd))
    assert [trial.params for trial in store.trials(job.id)] == [{"ini": "a"}, {"ini": "b"}]


def broken_at(count: int, code: FailureCode = FailureCode.BAD_OPTIONS) -> Any:
    def fails(options: Options) -> FailureCode | None:
        return code if number(options, "processes") == count else None

    return fails


def test_a_file_that_does_not_start_drops_out_and_the_rest_is_measured() -> None:
    world = FakeWorld(throughput=by_processes, fails=broken_at(5))
    inis = (with_processes(2), with_processes(5), with_processes(3))
    store, job = run(world, comparison(*inis, blocks=4))
    assert job.state is JobState.SUCCEEDED
    assert arms_of(store, job) == [(0, 1, 2)] + [(0, 2)] * 4
    assert job.report is not None
    failed = job.report.arms[1]
    assert failed.failure is not None
    assert failed.failure.code is FailureCode.BAD_OPTIONS
    assert failed.figures == ()
    assert [arm.blocks for arm in job.report.arms] == [4, 0, 4]
    states = [trial.state for trial in store.trials(job.id)]
    assert states == [TrialState.COMPLETE, TrialState.INFEASIBLE, TrialState.COMPLETE]


def test_where_all_others_drop_out_the_first_file_is_still_measured() -> None:
    world = FakeWorld(throughput=by_processes, fails=broken_at(5))
    store, job = run(world, comparison(with_processes(2), with_processes(5), blocks=3))
    assert job.state is JobState.SUCCEEDED
    assert arms_of(store, job) == [(0, 1)] + [(0,)] * 3


def test_on_a_small_host_each_file_has_its_blocks_in_smaller_ones() -> None:
    world = FakeWorld(throughput=by_processes, host_mb=2300)  # 70 % of it: three boxes
    inis = [with_processes(count) for count in (2, 3, 4, 5, 6)]
    store, job = run(world, comparison(*inis, blocks=6))
    assert job.state is JobState.SUCCEEDED
    assert set(map(len, arms_of(store, job))) == {3}
    assert job.report is not None
    assert [arm.blocks for arm in job.report.arms] == [12, 6, 6, 6, 6]
    assert job.report.arms[4].verdict is Verdict.BETTER


def test_before_all_files_have_started_once_no_block_is_planned_that_one_of_them_would_end() -> (
    None
):
    world = FakeWorld(throughput=by_processes, fails=broken_at(5), host_mb=2300)
    inis = [with_processes(count) for count in (2, 3, 4, 5, 6)]
    store, job = run(world, comparison(*inis, blocks=4))
    assert job.state is JobState.SUCCEEDED
    assert sum(3 in arms for arms in arms_of(store, job)) == 1
    assert job.report is not None
    assert [arm.blocks for arm in job.report.arms[1:]] == [4, 4, 0, 4]


def test_each_file_runs_in_its_own_box() -> None:
    world = FakeWorld(throughput=by_processes)
    asked = comparison(with_processes(2), with_processes(2), blocks=1)
    boxes = (Limits(cpus=1.0), Limits(cpus=2.0))
    variants = tuple(
        variant.model_copy(update={"limits": box})
        for variant, box in zip(asked.variants, boxes, strict=True)
    )
    run(world, asked.model_copy(update={"variants": variants}))
    started = {(arm.index, arm.limits.cpus) for arm in world.launches[-2:]}
    assert started == {(0, 1.0), (1, 2.0)}


def test_the_job_fails_with_its_first_file() -> None:
    world = FakeWorld(throughput=by_processes, fails=broken_at(5))
    _, job = run(world, comparison(with_processes(5), with_processes(2)))
    assert job.state is JobState.FAILED
    assert job.failure is not None
    assert job.failure.code is FailureCode.BAD_OPTIONS
    assert job.report is None


LADDER = Ladder(kind="ladder", concurrencies=(10, 100, 1_000))


def rungs_of(store: Any, job: Job) -> list[tuple[Rung | None, tuple[int, ...]]]:
    return [
        (m.block_options.rung, m.arms)
        for m in store.measurements(job.id)
        if m.kind is MeasurementKind.BLOCK
    ]


def test_every_block_of_a_ladder_is_one_rung_and_rungs_take_turns() -> None:
    world = FakeWorld(throughput=by_processes)
    chosen = comparison(with_processes(2), with_processes(3), blocks=3, workload=LADDER)
    store, job = run(world, chosen)
    assert job.state is JobState.SUCCEEDED
    assert rungs_of(store, job) == [(rung, (0, 1)) for rung in (10, 100, 1_000)] * 3
    assert job.report is not None
    assert job.report.blocks == 3
    assert [arm.windows for arm in job.report.arms] == [18, 18]
    blocks = [m for m in store.measurements(job.id) if m.kind is MeasurementKind.BLOCK]
    for block in blocks:
        assert {window.connections for window in block.windows} == {block.block_options.rung}
    starts = len(world.launches)
    assert starts >= 2 * len(blocks), "each rung has containers of its own"


def test_a_comparison_asks_for_longer_windows_where_requests_take_long() -> None:
    """At 200 requests/s, a request takes 0.05 s of 10 connections, and 5 s of 1 000."""
    world = FakeWorld(throughput=lambda _: 200.0, noise_sd=0.001)
    chosen = comparison(with_processes(2), with_processes(3), blocks=3, workload=LADDER)
    store, job = run(world, chosen)
    asked_s = job.spec.budget.window_s
    blocks = [m for m in store.measurements(job.id) if m.kind is MeasurementKind.BLOCK]
    lasted = {(w.connections, w.duration_s) for block in blocks for w in block.windows}
    assert {length for rung, length in lasted if rung == 10} == {asked_s}
    assert {length for rung, length in lasted if rung == 1_000} == {LONGER_AT_MOST * asked_s}


def test_a_file_that_breaks_at_a_rung_is_measured_at_the_rungs_below() -> None:
    dies = broken_at(5, FailureCode.DIED)
    world = FakeWorld(throughput=by_processes, fails=dies, fails_from=100)
    inis = (with_processes(2), with_processes(5))
    store, job = run(world, comparison(*inis, blocks=2, workload=LADDER))
    assert job.state is JobState.SUCCEEDED
    assert rungs_of(store, job) == [
        *((10, (0, 1)), (100, (0, 1))),
        *((100, (0,)), (1_000, (0,))),
        *((10, (0, 1)), (100, (0,)), (1_000, (0,))),
    ]
    assert job.report is not None
    found = [rung.failure and rung.failure.code for rung in job.report.arms[1].rungs]
    assert found == [None, FailureCode.DIED, None]
    assert {figure.rung for figure in job.report.arms[1].figures} == {10}


def test_a_file_that_breaks_at_a_path_is_measured_at_all_others() -> None:
    requests = tuple(HttpRequest(path=path) for path in ("/a", "/b", "/c"))
    paths = Paths(kind="paths", requests=requests)
    world = FakeWorld(throughput=by_processes, fails=broken_at(5, FailureCode.DIED), fails_at="/b")
    inis = (with_processes(2), with_processes(5))
    store, job = run(world, comparison(*inis, blocks=2, workload=paths))
    assert job.state is JobState.SUCCEEDED
    assert rungs_of(store, job) == [
        *(("/a", (0, 1)), ("/b", (0, 1))),  # it breaks
        *(("/c", (0, 1)), ("/b", (0,))),
        *(("/a", (0, 1)), ("/b", (0,)), ("/c", (0, 1))),
    ]


def test_on_a_small_host_each_rung_has_its_passes() -> None:
    world = FakeWorld(throughput=by_processes, host_mb=2300)  # 70 % of it: three boxes
    inis = [with_processes(count) for count in (2, 3, 4, 5)]
    store, job = run(world, comparison(*inis, blocks=2, workload=LADDER))
    assert job.state is JobState.SUCCEEDED
    assert job.report is not None
    assert [arm.blocks for arm in job.report.arms] == [4, 2, 2, 2]
    rungs = rungs_of(store, job)
    assert [rung for rung, _ in rungs] == [10, 10, 100, 100, 1_000, 1_000] * 2
    assert all(len(arms) <= 3 and arms[0] == 0 for _, arms in rungs)


def test_the_first_file_may_break_above_the_lowest_rung() -> None:
    dies = broken_at(5, FailureCode.DIED)
    world = FakeWorld(throughput=by_processes, fails=dies, fails_from=1_000)
    inis = (with_processes(5), with_processes(2))
    store, job = run(world, comparison(*inis, blocks=1, workload=LADDER))
    assert job.state is JobState.SUCCEEDED
    assert rungs_of(store, job)[-1] == (1_000, (1,))
    world.fails_from = 10
    assert run(world, comparison(*inis, workload=LADDER))[1].state is JobState.FAILED


def test_a_calibration_ends_with_what_the_host_can_see() -> None:
    budget = Budget(trials=0, calibrate_blocks=6, confirm_blocks=6, cycles=2, window_s=1.0)
    chosen = spec(kind=JobKind.CALIBRATE, budget=budget, search_space=None)
    store, job = run(FakeWorld(throughput=by_processes), chosen)
    assert job.state is JobState.SUCCEEDED
    assert job.calibration is not None
    assert job.calibration.blocks >= 6
    assert job.calibration.hosts == ("host-1",)
    assert set(arms_of(store, job)) == {(0, 0)}
    assert job.recommendation is None
