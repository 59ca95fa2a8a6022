"""Intervals against known values."""

import math

import pytest

from tests.benchmarks.replay import intervals
from tests.benchmarks.replay.intervals import bootstrap, ratio_of_medians, share


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        (0, 59, 0.0, 1 - 0.025 ** (1 / 59)),  # closed forms at both ends
        (10, 10, 0.025 ** (1 / 10), 1.0),
        (5, 10, 0.1871, 0.8129),  # Clopper and Pearson's table
        (15, 200, 0.0426, 0.1207),
    ],
)
def test_the_interval_of_a_share_is_that_of_clopper_and_pearson(
    hits: int, n: int, low: float, high: float
) -> None:
    found = share(hits, n)
    assert found.value == hits / n
    assert found.low == pytest.approx(low, abs=1e-4)
    assert found.high == pytest.approx(high, abs=1e-4)


def test_fifty_nine_without_a_hit_show_less_than_five_percent() -> None:
    assert share(0, 59, level=0.90).high < 0.05 < share(0, 58, level=0.90).high


def test_a_bootstrap_interval_of_a_mean_is_close_to_the_normal_one() -> None:
    values = [float(value) for value in range(100)]
    found = bootstrap(values, intervals.mean)
    half = 1.96 * math.sqrt(833.25) / 10
    assert found.value == 49.5
    assert found.low == pytest.approx(49.5 - half, abs=0.6)
    assert found.high == pytest.approx(49.5 + half, abs=0.6)


def test_what_does_not_vary_has_an_interval_of_no_width() -> None:
    found = bootstrap([0.3] * 20, intervals.median)
    assert (found.value, found.low, found.high, found.n) == (0.3, 0.3, 0.3, 20)


def test_the_same_runs_give_the_same_interval() -> None:
    values = [0.1, 0.5, 0.2, 0.9]
    assert bootstrap(values, intervals.ninetieth) == bootstrap(values, intervals.ninetieth)


def test_a_ratio_of_medians_holds_the_ratio() -> None:
    found = ratio_of_medians([1.0, 2.0, 3.0] * 20, [3.0, 4.0, 5.0] * 20)
    assert found.value == 0.5
    assert found.low <= 0.5 <= found.high


def test_a_rival_without_regret_cannot_be_beaten_only_equalled() -> None:
    assert ratio_of_medians([0.1] * 5, [0.0] * 5).value == math.inf
    assert ratio_of_medians([0.0] * 5, [0.0] * 5).value == 1.0


def test_no_runs_have_no_figure() -> None:
    with pytest.raises(ValueError, match="no runs"):
        share(0, 0)
    with pytest.raises(ValueError, match="no runs"):
        bootstrap([], intervals.mean)
