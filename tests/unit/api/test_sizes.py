"""What a job takes, told before it starts."""

from dataclasses import replace
from typing import Any

import pytest

from tests import builders
from tests.unit.api.fakes import Api
from tuner.judge.analysis import within_minutes
from tuner.nouns.model import PRESETS, Budget, Condition, JobKind, Ladder, Limits, Scene, Variant
from tuner.nouns.schemas import Size
from tuner.service.api.sizes import planned, size_of

LADDER = Ladder(kind="ladder", concurrencies=(100, 1_000, 10_000))
WINDOWS = {"cycles": 2, "window_s": 2.5, "warmup_s": 1.5}  # of load: 6.5 s an arm


def size(*, arms: int = 8, rounds: int = 4, facts: Any = None, **changes: Any) -> Size:
    variants = tuple(Variant(name=f"arm-{n}", ini=builders.INI) for n in range(arms))
    budget = Budget(trials=0, confirm_blocks=0, compare_blocks=rounds, **WINDOWS)
    asked = {"variants": variants, "budget": budget, "workload": LADDER, **changes}
    spec = builders.spec(kind=JobKind.COMPARE, search_space=None, **asked)
    return size_of(spec, planned(spec, facts))


def tuning(budget: Budget) -> Size:
    spec = builders.spec(budget=budget)
    return size_of(spec, planned(spec))


def test_a_comparison_tells_its_time_and_the_memory_of_its_largest_block() -> None:
    found = size()
    assert (found.blocks, found.arms_at_once, found.memory_mb) == (12, 8, 8 * 512)
    assert found.takes_s == 12 * 8 * (6.5 + 0.75)
    assert found.sentence == (
        "12 min to 51 min: 3 rungs x 4 rounds x 8 arms; up to 8 arms at once, with 4.1 GB of memory"
        "; longer where a request takes over 0.5 s"
    )


def test_connections_that_a_queue_holds_time_out_in_no_run() -> None:
    fewer = Ladder(kind="ladder", concurrencies=(100, 1_000, 4_096))
    assert size(workload=fewer).sentence.startswith("12 min to 19 min: 3 rungs")
    assert size(limits=Limits(somaxconn=65_535)).sentence == size().sentence


def test_a_tuning_job_counts_the_connections_that_time_out_too() -> None:
    spec = builders.spec(budget=PRESETS["demo"], workload=LADDER)
    assert size_of(spec, planned(spec)).sentence.startswith("6 min to 44 min, or less: ")


def test_each_arm_counts_with_its_own_box_and_its_services() -> None:
    small = Variant(name="small", ini=builders.INI, limits=Limits(memory_mb=128))
    large = Variant(name="large", ini=builders.INI, limits=Limits(memory_mb=600))
    postgres = {"image": "postgres:17", "memory_mb": 100}
    target = builders.spec().target
    backed = type(target).model_validate({**target.model_dump(), "services": {"db": postgres}})
    found = size(variants=(small, large), workload=builders.spec().workload, target=backed)
    assert found.memory_mb == 128 + 600 + 2 * 100
    assert found.takes_s == 4 * 2 * (6.5 + 0.75 + 3.0)
    assert found.sentence.endswith(
        ": 4 rounds x 2 arms; up to 2 arms and their services at once, with 928 MB of memory"
        "; longer where a request takes over 0.5 s"
    )


def test_a_host_with_less_memory_starts_fewer_arms_at_once_and_takes_longer() -> None:
    room_for_five = replace(builders.FINGERPRINT, memory_mb=4 * 1024)
    small = size(facts=replace(builders.FACTS, fingerprint=room_for_five))
    assert (small.arms_at_once, small.memory_mb) == (5, 5 * 512)
    assert small.blocks == 2 * 12
    assert small.takes_s > size().takes_s


def test_a_tuning_job_tells_the_most_that_it_takes() -> None:
    found = tuning(PRESETS["standard"])
    assert (found.arms_at_once, found.memory_mb) == (5, 5 * 512)
    # calibrate, search, race of 4 and 2, its winner alone, ablate, confirm, half and twice the load
    compromise = 8 + 2 * 4
    assert found.blocks == 4 + 30 + (4 + 8 + 12) + 24 + 40 + 2 * 8 + compromise
    long_s, short_s = 3 + 4 * 2.5 + 0.75, 3 + 2 * 2.5 + 0.75  # of an arm
    pairs, race, ablation = 90 * 2 * long_s, (4 * 5 + 8 * 3 + 12 * 2) * short_s, 24 * 5 * long_s
    scenes = 4 * 2 * (3 + 7 * 6)  # blocks, arms, seven scenes of six seconds after the warm-up
    assert scenes < compromise * 2 * long_s  # one of them comes: the plan has the longer one
    assert found.takes_s == pairs + race + ablation + compromise * 2 * long_s
    assert found.sentence == (
        "86 min to 2.4 h, or less: 30 trials, 154 blocks; up to 5 arms at once,"
        " with 2.6 GB of memory"
    )


def test_the_phases_of_a_tuning_job_add_up_to_its_size() -> None:
    found = tuning(PRESETS["standard"])
    assert [(row.phase, row.least_blocks, row.blocks) for row in found.phases] == [
        ("calibrate", 4, 4),
        ("search", 1, 30),
        ("race", 0, 24),
        ("ablate", 0, 24),
        ("confirm", 0, 40),
        ("conditions", 0, 16),
        ("scenes or compromise", 0, 16),
    ]
    assert sum(row.takes_s for row in found.phases) == pytest.approx(found.takes_s)
    calibrate, search = found.phases[:2]
    pair_s = 2 * (3 + 4 * 2.5 + 0.75)
    assert (calibrate.least_s, calibrate.takes_s) == (4 * pair_s, 4 * pair_s)
    assert calibrate.longest_s == 4 * (pair_s + 2 * 3 * 3)  # three more warm-ups of each arm
    assert (search.least_s, search.takes_s) == (pair_s, 30 * pair_s)


def test_a_phase_that_a_budget_does_not_have_is_no_row() -> None:
    assert [row.phase for row in tuning(PRESETS["demo"]).phases] == [
        "calibrate",
        "search",
        "confirm",
    ]
    spec = builders.spec(budget=PRESETS["quick"]).model_copy(update={"skip": tuple(Scene)})
    rows = size_of(spec, planned(spec)).phases
    assert "conditions" in [row.phase for row in rows]
    assert rows[-1].phase == "compromise"
    alone = builders.spec(budget=PRESETS["quick"]).model_copy(update={"skip": tuple(Condition)})
    assert size_of(alone, planned(alone)).phases[-1].phase == "scenes"


def test_all_blocks_of_a_comparison_are_sure() -> None:
    (row,) = size().phases
    assert (row.phase, row.least_blocks, row.blocks) == ("compare", 12, 12)
    assert row.least_s == row.takes_s == size().takes_s


@pytest.mark.parametrize("minutes", [20.0, 25.0, 30.0])
def test_the_search_gets_the_time_that_the_other_phases_leave(minutes: float) -> None:
    budget = PRESETS["standard"].model_copy(update={"minutes": minutes})
    fitted = within_minutes(builders.spec(budget=budget), None)
    found = size_of(fitted, planned(fitted))
    assert found.takes_s == minutes * 60
    search = next(row for row in found.phases if row.phase == "search")
    assert (search.least_blocks, search.blocks) == (0, 30)


def test_minutes_say_what_can_be_seen_in_them() -> None:
    budget = PRESETS["standard"].model_copy(update={"minutes": 60.0})
    fitted = within_minutes(builders.spec(budget=budget), None)
    shown = size_of(fitted, planned(fitted)).sentence.rpartition(". ")[2]
    assert shown == (
        "24 fresh blocks can show a gain of 0.5 % at a block noise of 1.0 %"
        " and of 1.5 % at a block noise of 3.0 %"
    )


def test_the_answer_to_a_request_tells_the_size_of_its_job() -> None:
    request = {"kind": "calibrate", "target": {"target_app": "mixed"}, "blocks": 4}
    answer = Api().submit(request)
    assert answer.json()["size"]["blocks"] == 4
    assert answer.json()["size"]["sentence"].startswith("58 s to 94 s: 4 blocks x 2 arms; ")
