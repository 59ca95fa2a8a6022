"""Lists of numbers that somebody measured, against published answers and those of scipy."""

import math
import random

import pytest
from scipy import stats

from tuner.judge.analysis.runs import analyse, difference, runs_for, trend_of

# Seven repeats of one configuration from the article behind reference case R1, in requests/s.
R1 = [2132.08, 1325.72, 1795.32, 1381.67, 1283.08, 1399.98, 1488.05]


def test_the_articles_runs_have_a_robust_centre_and_an_interval() -> None:
    found = analyse(R1)
    assert found.centre == pytest.approx(1466, abs=1)
    assert (found.ci_low, found.ci_high) == pytest.approx((1325.72, 1795.32))
    assert found.cv == pytest.approx(0.2005, abs=0.001)


def test_the_articles_high_run_lies_far_but_no_farther_than_a_skewed_distribution_puts_it() -> None:
    found = analyse(R1).outliers
    assert [(value.run, value.value) for value in found.far] == [(1, 2132.08)]
    assert found.beyond_skew == 0
    assert found.centre_without == pytest.approx(1400, abs=1)


def test_a_run_that_no_skewed_distribution_explains_is_told_apart() -> None:
    found = analyse([100.0, 101, 99, 100.5, 99.5, 100.2, 99.8, 55.0]).outliers
    assert [value.value for value in found.far] == [55.0]
    assert found.beyond_skew == 1


def test_two_far_runs_do_not_hide_each_other() -> None:
    found = analyse([100.0, 101, 99, 100.5, 99.5, 100.2, 99.8, 100.1, 99.9, 55.0, 54.0]).outliers
    assert found.beyond_skew == 2


def test_a_run_that_differs_from_equal_ones_lies_far() -> None:
    assert [value.run for value in analyse([100.0] * 6 + [120.0]).outliers.far] == [7]


def test_equal_runs_have_neither_outliers_nor_spread() -> None:
    found = analyse([100.0] * 5)
    assert found.outliers.far == ()
    assert (found.cv, found.resolves) == (0, 0)


@pytest.mark.full
def test_the_runs_needed_give_the_promised_power() -> None:
    draw = random.Random(12)  # noqa: S311
    sd, effect = 0.05, 0.05
    n = runs_for(sd, effect)
    seen = 0
    for _ in range(1000):
        ours = [draw.gauss(math.log1p(effect), sd) for _ in range(n)]
        theirs = [draw.gauss(0, sd) for _ in range(n)]
        seen += stats.ttest_ind(ours, theirs, alternative="greater").pvalue < 0.05
    assert 0.76 <= seen / 1000 <= 0.84


def test_what_so_many_runs_resolve_needs_so_many_runs() -> None:
    found = analyse(R1)
    assert runs_for(0.1853, found.resolves) == pytest.approx(7, abs=1)
    assert [needed.runs for needed in found.needed] == pytest.approx([1084, 180, 48], rel=0.02)
    assert all(needed.low < needed.runs < needed.high for needed in found.needed)


def test_a_trend_is_tested_as_kendall_did() -> None:
    draw = random.Random(13)  # noqa: S311
    for n in (5, 7, 12, 40):
        values = [draw.random() for _ in range(n)]
        expected = stats.kendalltau(range(n), values, method="exact")
        found = trend_of(values)
        assert found.p == pytest.approx(expected.pvalue)
        assert found.agreement == pytest.approx(expected.statistic)


def test_runs_that_rise_show_a_trend_and_seven_in_a_row_are_enough() -> None:
    found = trend_of([1.0, 2, 3, 4, 5, 6, 7])
    assert found.p < 0.001
    assert found.first_is == "lowest"
    assert found.needed == pytest.approx(15 / 21)


def test_four_runs_are_too_few_for_any_trend() -> None:
    assert trend_of([1.0, 2, 3, 4]).needed is None


def test_a_jump_is_found_where_it_is() -> None:
    found = trend_of([10.0, 10.1, 9.9, 10.05, 9.95, 10.02] * 2 + [12.0, 12.1, 11.9, 12.05] * 3)
    assert found.jump_after == 12
    assert found.jump_p < 0.001


def test_two_groups_are_compared_as_mann_and_whitney_did() -> None:
    draw = random.Random(14)  # noqa: S311
    ours = [draw.lognormvariate(7.1, 0.05) for _ in range(9)]
    theirs = [draw.lognormvariate(7.0, 0.05) for _ in range(11)]
    found = difference(theirs, ours)
    expected = stats.mannwhitneyu(ours, theirs, method="exact").pvalue
    assert found.p == pytest.approx(expected)
    assert found.ci_low < 0.105 < found.ci_high
    assert found.is_clear == (expected < 0.05)


def test_many_runs_are_compared_by_the_normal_approximation() -> None:
    draw = random.Random(15)  # noqa: S311
    ours = [draw.lognormvariate(7.01, 0.05) for _ in range(80)]
    theirs = [draw.lognormvariate(7.0, 0.05) for _ in range(90)]
    found = difference(theirs, ours)
    expected = stats.mannwhitneyu(ours, theirs, method="asymptotic").pvalue
    assert found.p == pytest.approx(expected, rel=1e-6)
    assert found.is_clear == (expected < 0.05)


def test_groups_of_three_get_an_interval_too() -> None:
    found = difference([100.0, 101, 99], [150.0, 151, 149])
    assert found.is_clear
    assert found.ci_low < 0.5 < found.ci_high


def test_equal_groups_seldom_differ() -> None:
    draw = random.Random(16)  # noqa: S311
    clear = sum(
        difference(
            [draw.lognormvariate(7, 0.1) for _ in range(8)],
            [draw.lognormvariate(7, 0.1) for _ in range(8)],
        ).is_clear
        for _ in range(400)
    )
    assert clear / 400 <= 0.07


@pytest.mark.parametrize("values", [[1.0], [], [1.0, 0.0], [1.0, -2.0], [1.0, math.inf]])
def test_what_cannot_be_runs_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"run"):
        analyse(values)
