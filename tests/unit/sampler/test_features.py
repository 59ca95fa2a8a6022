"""Params as coordinates: ratios, special values, and what may be proposed at all."""

from dataclasses import replace

import numpy as np
import pytest

from tests.builders import space, spec
from tests.unit.sampler.planted import slots_domain
from tuner.nouns.model import MemoryLine
from tuner.study.sampler.features import CandidatePool, Cube
from tuner.study.sampler.surrogate import Warp
from tuner.targets.search_space import derive


def cube(**parameters: object) -> Cube:
    return Cube.of(derive(spec(search_space=space(**parameters))))


def test_ratios_are_equal_distances() -> None:
    found = cube(buffer={"type": "choice", "values": [1, 2, 4, 8, 16]})
    # The user's file says nothing, which is 0: a special value, with an indicator of its own.
    places = found.points([{"buffer": value} for value in (0, 1, 2, 4, 8, 16)])
    assert places.tolist() == [[0, 1], [0, 0], [0.25, 0], [0.5, 0], [0.75, 0], [1, 0]]
    assert found.numeric == (True, False)


def test_two_choices_need_one_column_and_three_have_one_each() -> None:
    emit = {"off": {"disable-logging": True}, "less": {"log-5xx": True}}
    two = cube(logging={"type": "choice", "values": ["user", "off"], "emit": emit})
    three = cube(logging={"type": "choice", "values": ["user", "off", "less"], "emit": emit})
    assert two.points([{"logging": "user"}, {"logging": "off"}]).tolist() == [[0], [1]]
    distinct = three.points([{"logging": value} for value in ("user", "off", "less")])
    assert distinct.tolist() == np.eye(3).tolist()


def test_total_concurrency_is_a_coordinate_where_both_factors_are_free() -> None:
    both = Cube.of(slots_domain())
    same = both.points([{"processes": 8, "threads": 1}, {"processes": 1, "threads": 8}])
    assert same.shape == (2, 3)
    assert same[0, 2] == same[1, 2]
    assert cube(processes={"type": "int", "low": 1, "high": 8}).slots is None


def test_processes_and_threads_are_one_group_of_columns_and_all_others_their_own() -> None:
    assert Cube.of(slots_domain()).groups == ((0, 1, 2),)
    found = cube(
        buffer={"type": "choice", "values": [1, 2, 4]},
        processes={"type": "int", "low": 1, "high": 8},
        threads={"type": "int", "low": 1, "high": 8},
        **{"thunder-lock": {"type": "bool"}},
    )
    assert found.groups == ((2, 3, 5), (0, 1), (4,))
    assert found.points([{"buffer": 2, "processes": 8, "threads": 1, "thunder-lock": True}])[
        0
    ].tolist() == [0.5, 0, 1, 0, 1, pytest.approx(0.5)]


def test_a_small_domain_is_laid_out_whole_and_once() -> None:
    pool = CandidatePool.of(slots_domain())
    assert pool.is_whole
    assert len(pool.points) == 32 + 32 + 16 + 8  # the rule allows 64 slots
    assert pool is CandidatePool.of(slots_domain())


def test_what_is_known_not_to_fit_into_memory_is_no_candidate() -> None:
    domain = slots_domain()
    line = MemoryLine(base_mb=20.0, per_process_mb=50.0)
    pool = CandidatePool.of(replace(domain, memory=line))
    processes = [int(params["processes"]) for params in pool.points.values()]
    assert max(processes) == 8  # 435 MB of 512, of which 85 % may be used
    assert len(pool.coordinates) == len(pool.points) < len(CandidatePool.of(domain).points)


@pytest.mark.parametrize("below", [0.0, 0.3, 0.5, 1.0, 5.0])
def test_scores_come_back_from_the_units_of_the_model(below: float) -> None:
    scores = np.array([0.4, 0.1, -2.0])
    warp = Warp.of(scores, np.full(3, 0.05), top=0.4)
    score = np.array([0.4 - below])
    assert warp.outward(warp.inward(score)) == pytest.approx(score)
    ahead = (warp.inward(score + 1e-6) - warp.inward(score - 1e-6)) / 2e-6
    assert warp.slope(score) == pytest.approx(ahead, rel=1e-4)
