"""Which files of a comparison a block starts, on hosts of any size."""

from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

import pytest

from tests.builders import FACTS, FINGERPRINT, spec
from tuner.nouns.model import (
    Budget,
    JobKind,
    JobSpec,
    Limits,
    Rung,
    TargetFacts,
    TrialNumber,
    Variant,
)
from tuner.study import arms_at_once, passes, rounds

BOX_MB = 512


def comparison(files: int, *, blocks: int = 8, **changes: Any) -> JobSpec:
    """A comparison of files with 1, 2, 3 ... processes."""
    variants = tuple(
        Variant(name=f"p{n}", ini=f"[uwsgi]\nprocesses = {n}\n") for n in range(1, files + 1)
    )
    budget = Budget(trials=0, confirm_blocks=0, compare_blocks=blocks)
    return spec(kind=JobKind.COMPARE, variants=variants, budget=budget, **changes)


def host(boxes: float) -> TargetFacts:
    """A host with room for so many boxes beside the 30 % that stay free."""
    memory_mb = round(boxes * BOX_MB / 0.7) + 1
    return replace(FACTS, fingerprint=replace(FINGERPRINT, memory_mb=memory_mb))


def numbers(count: int) -> tuple[TrialNumber, ...]:
    return tuple(TrialNumber(n) for n in range(count))


def planned(job: JobSpec, facts: TargetFacts | None) -> list[tuple[int, ...]]:
    return [*chain(*passes(job, facts, numbers(len(job.variants))))]


def test_while_all_files_fit_every_block_has_all_of_them() -> None:
    assert planned(comparison(16), host(16)) == [numbers(16)] * 8
    assert planned(comparison(3), None) == [numbers(3)] * 8
    assert planned(comparison(1), host(1)) == [(0,)] * 8


@pytest.mark.parametrize("room", [2, 3, 4, 5, 6, 7, 11, 15])
def test_every_file_runs_equally_often_and_the_first_one_in_every_block(room: int) -> None:
    blocks = planned(comparison(16), host(room))
    runs = Counter(chain(*blocks))
    assert {runs[arm] for arm in range(1, 16)} == {8}
    assert runs[0] == len(blocks)
    assert max(map(len, blocks)) <= room
    assert len(blocks) == 8 * -(-15 // (room - 1))  # the fewest that hold 15 files


@pytest.mark.parametrize("room", [3, 4, 5, 6, 9])
def test_each_step_shares_as_many_blocks_with_the_one_before_as_were_asked_for(room: int) -> None:
    blocks = planned(comparison(16, compare_with="previous"), host(room))
    for last, own in pairwise(range(16)):
        assert sum({last, own} <= {*block} for block in blocks) >= 8
    assert all(0 in block and len(block) <= room for block in blocks)


def test_the_files_of_a_curve_stay_together() -> None:
    small, large = Limits(cpus=1, memory_mb=BOX_MB), Limits(cpus=2, memory_mb=BOX_MB)
    job = comparison(4, vary=("cpus", "processes"))
    boxed = [
        Variant(name=f"{v.name}-{n}", ini=v.ini, limits=box)
        for n, box in enumerate((small, large))
        for v in job.variants
    ]
    job = job.model_copy(update={"variants": tuple(boxed)})
    of_pass = [(0, 1, 2, 3), (0, 4, 5, 6, 7)]
    assert sorted(planned(job, host(5))) == sorted(of_pass * 8)
    assert planned(job, host(8)) == [numbers(8)] * 8
    assert arms_at_once(job) == 5


def test_each_box_counts_with_its_own_memory() -> None:
    large = Limits(memory_mb=3 * BOX_MB)
    job = comparison(4)
    variants = (*job.variants[:3], job.variants[3].model_copy(update={"limits": large}))
    blocks = planned(job.model_copy(update={"variants": variants}), host(4))
    assert sorted(blocks) == sorted([(0, 1, 2), (0, 3)] * 8)


def test_a_group_that_does_not_fit_is_tried_all_the_same() -> None:
    assert set(planned(comparison(3), host(0.5))) == {(0, 1), (0, 2)}


def test_only_what_is_missing_is_measured_again() -> None:
    job, facts = comparison(5, blocks=2), host(3)
    (first, second), last = passes(job, facts, numbers(5))
    assert [*chain(*passes(job, facts, numbers(5), [first]))] == [second, *last]
    assert passes(job, facts, numbers(5), [first, second, *last]) == []


def test_a_file_that_dropped_out_is_in_no_block() -> None:
    job = comparison(4, blocks=1, compare_with="previous")
    assert planned(job, host(2)) == [(0, 1), (0, 1, 2), (0, 2, 3)]
    working = (TrialNumber(0), TrialNumber(1), TrialNumber(3))
    assert [*chain(*passes(job, host(2), working))] == [(0, 1), (0, 3)]
    assert [*chain(*passes(job, host(2), (TrialNumber(0),)))] == [(0,)]


def test_each_round_of_a_ladder_has_a_pass_of_every_rung() -> None:
    job, facts = comparison(5, blocks=2), host(3)
    (first, second), (third, fourth) = passes(job, facts, numbers(5))
    rungs: dict[Rung | None, tuple[TrialNumber, ...]] = dict.fromkeys((10, 100), numbers(5))
    found = rounds(job, facts, rungs)
    assert found == [
        [(arms, rung) for arms in of_pass]
        for of_pass in ([first, second], [third, fourth])
        for rung in (10, 100)
    ]
    done = [(first, 10), (second, 10), (first, 100)]
    assert [*chain(*rounds(job, facts, rungs, done))] == [
        (second, 100),
        *((arms, rung) for rung in (10, 100) for arms in (third, fourth)),
    ]
    assert rounds(job, facts, rungs, [*chain(*found)]) == []


def test_a_rung_has_blocks_of_the_files_that_work_there_alone() -> None:
    job = comparison(3, blocks=1)
    one, two = TrialNumber(1), TrialNumber(2)
    working: dict[Rung | None, tuple[TrialNumber, ...]] = {
        10: numbers(3),
        100: (one, two),
        1_000: (),
    }
    assert rounds(job, host(2), working) == [[((0, 1), 10), ((0, 2), 10)], [((1, 2), 100)]]


@pytest.mark.parametrize("files", [1, 2, 6])
def test_a_host_must_bear_two_files_at_once(files: int) -> None:
    assert arms_at_once(comparison(files)) == 2


def test_a_host_must_bear_a_step_the_one_before_it_and_the_first() -> None:
    assert arms_at_once(comparison(6, compare_with="previous")) == 3


@pytest.mark.parametrize(
    ("numbers", "arms"),
    [({}, 2), ({"race": 8}, 9), ({"race": 3, "ablate_runs": 24}, 5), ({"race": 1}, 2)],
)
def test_the_largest_block_of_a_tuning_job_is_of_the_race_or_of_the_ablation(
    numbers: dict[str, int], arms: int
) -> None:
    assert arms_at_once(spec(budget=Budget(trials=1, confirm_blocks=1, **numbers))) == arms
