"""Doubts of windows to doubts of a file, and starts that differ too much."""

import random

import pytest

from tests.builders import block, shaken_block, window
from tuner.judge import analysis
from tuner.nouns.model import Doubt, Measurement

NOISE = 0.03


def blocks_of(*rates: list[float]) -> list[Measurement]:
    """One block for each place of the lists, which hold one rate an arm."""
    return [
        block([window(arm, rate) for arm, rate in enumerate(found)], arms=tuple(range(len(found))))
        for found in zip(*rates, strict=True)
    ]


def steady(draw: random.Random, blocks: int = 10, noise: float = NOISE) -> list[float]:
    return [1000 * draw.lognormvariate(0, noise) for _ in range(blocks)]


def slow_at_times(draw: random.Random, slow: int = 4, blocks: int = 10) -> list[float]:
    """A file of whose starts some are 30 % slower."""
    factors = [0.7] * slow + [1.0] * (blocks - slow)
    draw.shuffle(factors)
    return [factor * rate for factor, rate in zip(factors, steady(draw, blocks), strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_a_file_of_which_four_in_ten_starts_are_slow_is_found(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    assert analysis.unstable_arms(blocks_of(slow_at_times(draw))) == {0}
    assert analysis.unstable_arms(blocks_of(steady(draw), slow_at_times(draw))) == {1}
    assert analysis.unstable_arms(blocks_of(slow_at_times(draw), steady(draw))) == {0}


def test_files_of_ordinary_noise_are_never_called_unstable() -> None:
    draw = random.Random(3)  # noqa: S311
    for _ in range(500):
        blocks = blocks_of(steady(draw, 20), steady(draw, 20), steady(draw, 20))
        assert analysis.unstable_arms(blocks) == set()


def test_a_host_that_drifts_makes_no_file_unstable() -> None:
    draw = random.Random(4)  # noqa: S311
    drift = [1.0, 0.9, 0.8, 0.7, 0.6, 0.6, 0.7, 0.8, 0.9, 1.0]
    arms = [[f * r for f, r in zip(drift, steady(draw), strict=True)] for _ in range(2)]
    assert analysis.unstable_arms(blocks_of(*arms)) == set()


@pytest.mark.parametrize("seed", range(20))
def test_a_cpu_whose_speed_changes_makes_no_file_unstable(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    blocks = blocks_of(steady(draw), steady(draw))
    assert analysis.unstable_arms([shaken_block(each, draw) for each in blocks]) == set()


@pytest.mark.parametrize("seed", range(20))
def test_on_a_noisy_host_the_steady_partner_is_not_blamed(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    drift = [draw.lognormvariate(0, 0.12) for _ in range(10)]
    steady_one, slow_one = steady(draw), slow_at_times(draw)
    arms = [[f * r for f, r in zip(drift, rates, strict=True)] for rates in (steady_one, slow_one)]
    assert 0 not in analysis.unstable_arms(blocks_of(*arms))


def test_on_a_very_noisy_host_the_steady_partner_is_seldom_blamed() -> None:
    blamed, found = 0, 0
    for seed in range(300):
        draw = random.Random(seed)  # noqa: S311
        drift = [draw.lognormvariate(0, 0.3) for _ in range(10)]
        arms = [
            [shake * rate for shake, rate in zip(drift, rates, strict=True)]
            for rates in (steady(draw), slow_at_times(draw))
        ]
        unstable = analysis.unstable_arms(blocks_of(*arms))
        blamed, found = blamed + (0 in unstable), found + (1 in unstable)
    assert blamed < 0.3 * 300  # comparing the scatter of both would blame it in 60 %
    assert found > 0.8 * 300


def test_both_starts_of_a_block_of_equal_files_count() -> None:
    blocks = [block([window(0, 1000), window(1, 600)], arms=(0, 0)) for _ in range(2)]
    assert analysis.unstable_arms(blocks) == {0}


def test_three_starts_are_too_few_to_tell() -> None:
    assert analysis.unstable_arms(blocks_of([1000, 600, 1000])) == set()


def test_a_candidate_that_scatters_far_more_than_the_baseline_is_unstable() -> None:
    baseline = [1000.0, 1005, 995, 1000, 1004, 996]
    candidate = [900.0, 1100, 950, 1050, 1000, 1120]
    assert analysis.unstable_arms(blocks_of(baseline, candidate)) == {1}


def test_a_doubt_of_few_windows_is_not_one_of_the_file_unless_it_voids() -> None:
    windows = [window() for _ in range(28)]
    windows += [window(doubts=(Doubt.NOISY_HOST,)), window(doubts=(Doubt.PORTS_EXHAUSTED,))]
    assert analysis.frequent(windows) == (Doubt.PORTS_EXHAUSTED,)
    assert analysis.frequent(windows[-10:]) == (Doubt.PORTS_EXHAUSTED, Doubt.NOISY_HOST)
