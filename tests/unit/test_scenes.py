"""Scenes on a host without containers, and the figures of a course."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.builders import INI, spec
from tests.fake_bench import FakeWorld, Options, arm, number
from tuner.bench.load.probe.rows import course, late_of, longest_gap_s
from tuner.bench.measurement import Bench, Course, CourseStep, run_scenes
from tuner.bench.measurement.scenes import growth_of
from tuner.nouns.model import (
    Budget,
    ClosedLoop,
    HttpRequest,
    Journey,
    Limits,
    RelativeBound,
    Scene,
    Slo,
    Workload,
)

SPEC = spec()
BUDGET = Budget(trials=1, confirm_blocks=4, cycles=3, window_s=1.0, warmup_s=0.5)
LARGE = Limits(cpus=1.0, memory_mb=4096)
ONE = INI.replace("processes = 2", "processes = 1")
JOURNEY = Journey(
    kind="journey", users=4, limit_s=3.0, requests=(HttpRequest(), HttpRequest(path="/a"))
)
GOOD = CourseStep(answered=25, p95_ms=5.0)
SLOW = replace(GOOD, p95_ms=2000.0)
GONE = CourseStep(answered=0, p95_ms=None)


def late_alone(options: Options) -> float:
    return 0.7 if number(options, "processes") == 1 else 0.0


def of(*steps: CourseStep) -> Course:
    noon = datetime(2026, 11, 28, tzinfo=UTC)
    return Course(
        started_at=noon, sent=9, failed=0, late=0, unsent=0, longest_gap_s=0.1, steps=steps
    )


def test_each_scene_is_played_once_with_each_arm() -> None:
    world = FakeWorld(late_in_scenes=late_alone)
    arms = [arm(INI, SPEC.target), arm(ONE, SPEC.target, index=1)]
    bench = Bench(world.launcher, world.load)
    scenes = [Scene.HUNG_WORKER, Scene.OVERLOAD]
    runs = run_scenes(bench, arms, ClosedLoop(), BUDGET, seed=3, scenes=scenes).scene_runs
    assert [run.scene for run in runs] == [scene for scene in scenes for _ in arms]
    late = {run.arm: run.late for run in runs if run.scene is Scene.HUNG_WORKER}
    assert late == {0: 0.0, 1: pytest.approx(0.7, abs=0.01)}
    assert not world.running


@pytest.mark.parametrize(
    ("slo", "load", "limit_s"),
    [
        (Slo(), ClosedLoop(), 1.0),
        (Slo(latency_p95_ms=200.0, latency_p99_ms=500.0), ClosedLoop(), 0.5),
        (Slo(latency_p95_ms=RelativeBound(relative_to_baseline=1.05)), ClosedLoop(), 1.0),
        (
            Slo(latency_p95_ms=200.0),
            Journey(
                kind="journey",
                users=4,
                limit_s=3.0,
                requests=(HttpRequest(), HttpRequest(path="/a")),
            ),
            3.0,
        ),
    ],
)
def test_a_request_is_late_after_the_limit_of_the_load_or_of_the_slo(
    slo: Slo, load: Workload, limit_s: float
) -> None:
    world = FakeWorld()
    bench = Bench(world.launcher, world.load)
    runs = run_scenes(
        bench,
        [arm(INI, SPEC.target)],
        load,
        BUDGET,
        seed=3,
        scenes=[Scene.HUNG_WORKER],
        late_s=slo.late_s,
    ).scene_runs
    assert [run.limit_s for run in runs] == [limit_s]


def test_memory_is_filled_only_where_the_image_can_and_the_limit_is_low() -> None:
    world = FakeWorld()
    arms = [arm(INI, SPEC.target), replace(arm(INI, SPEC.target, index=1), limits=LARGE)]
    bench = Bench(world.launcher, world.load)
    found = run_scenes(bench, arms, ClosedLoop(), BUDGET, seed=3, scenes=[Scene.OUT_OF_MEMORY])
    notes = {run.arm: run.note for run in found.scene_runs}
    assert "the image lacks" in notes[0]
    assert "more than 2048 MB" in notes[1]


def test_the_order_of_the_arms_is_drawn() -> None:
    def order(seed: int) -> list[int]:
        world = FakeWorld()
        arms = [arm(INI, SPEC.target), arm(ONE, SPEC.target, index=1)]
        bench = Bench(world.launcher, world.load)
        found = run_scenes(
            bench, arms, ClosedLoop(), BUDGET, seed=seed, scenes=[Scene.RELOAD, Scene.OVERLOAD]
        )
        return [run.arm for run in found.scene_runs]

    assert len({tuple(order(seed)) for seed in range(8)}) > 1


def test_nothing_amiss_is_normal_at_once() -> None:
    assert of(*[GOOD] * 24).back_to_normal_s(1.0, 4.0) == 0.0


@pytest.mark.parametrize("amiss", [SLOW, GONE])
def test_it_is_normal_again_after_the_last_step_amiss(amiss: CourseStep) -> None:
    steps = [*[GOOD] * 4, *[amiss] * 10, GOOD, amiss, *[GOOD] * 8]
    assert of(*steps).back_to_normal_s(1.0, 4.0) == pytest.approx(3.0)


def test_a_hiccup_long_after_the_scene_is_not_its_doing() -> None:
    assert of(*[GOOD] * 20, SLOW, *[GOOD] * 4).back_to_normal_s(1.0, 4.0) == 0.0


def test_what_never_gets_normal_takes_the_rest_of_the_run() -> None:
    assert of(*[GOOD] * 4, *[SLOW] * 20).back_to_normal_s(1.0, 4.0) == pytest.approx(5.0)


def test_without_an_answer_before_nothing_is_known() -> None:
    assert of(*[GONE] * 24).back_to_normal_s(1.0, 4.0) is None


def test_the_longest_gap_counts_to_the_end_of_the_load() -> None:
    assert longest_gap_s([0.5, 1.0, 3.5, 9.0], 5.0) == 2.5
    assert longest_gap_s([], 5.0) == 5.0


def test_growth_that_the_readings_cannot_show_is_unsure() -> None:
    memory_mb = [80.0] * 12 + [80.1] * 4  # the kernel has counted one batch of pages
    found = growth_of(memory_mb, rps=20.0, limit_mb=256.0)
    assert found is not None
    assert abs(found.mb_per_10k) < found.unsure_mb_per_10k
    assert found.requests_left is None


def test_the_limit_is_as_far_as_memory_grows() -> None:
    memory_mb = [100.0 + 0.5 * step for step in range(16)]  # 2 MB a second
    found = growth_of(memory_mb, rps=400.0, limit_mb=207.5)
    assert found is not None
    assert found.mb_per_10k == pytest.approx(50.0)
    assert found.requests_left == 20_000


def test_a_short_run_shows_no_growth() -> None:
    assert growth_of([80.0] * 10, rps=20.0, limit_mb=256.0) is None


def test_late_answers_of_an_open_loop_are_those_after_the_limit() -> None:
    rows = [(0.0, 0.0, 0.1, True), (0.5, 0.5, 2.0, True), (0.6, 0.6, 2.0, False)]
    found = course(rows, limit_s=1.0, length_s=3.0, is_closed=False)
    assert (found["late"], found["unsent"]) == (1, 0)
    assert [step["answered"] for step in found["steps"]] == [1, 0, 1, *[0] * 9]


def test_a_wait_in_a_closed_loop_stands_for_the_requests_that_were_not_sent() -> None:
    assert late_of(3.0, 1.0, pace_s=0.5) == 5
    assert late_of(3.0, 1.0, pace_s=None) == 1
    assert late_of(0.9, 1.0, pace_s=0.5) == 0
