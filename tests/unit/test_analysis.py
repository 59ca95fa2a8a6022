"""The statistics, against published and hand-made answers."""

import math
import random

import pytest
from scipy import stats

from tuner.judge import analysis
from tuner.nouns.model import Comparison, Metric, Verdict

# Seven repeats of one configuration from the article behind reference case R1, in requests/s.
R1 = [2132.08, 1325.72, 1795.32, 1381.67, 1283.08, 1399.98, 1488.05]


def compare(ratios: list[float], *, sign: int = 1, min_effect: float = 0.02) -> Comparison:
    return analysis.compare(ratios, metric=Metric.THROUGHPUT_RPS, sign=sign, min_effect=min_effect)


def test_hodges_lehmann_of_the_articles_seven_numbers() -> None:
    assert analysis.hodges_lehmann(R1) == pytest.approx(1466, abs=1)


def test_signed_rank_interval_of_the_articles_seven_numbers() -> None:
    assert analysis.signed_rank_interval(R1) == pytest.approx((1326, 1810), abs=1)


def test_signed_rank_interval_inverts_the_test_of_scipy() -> None:
    values = [0.31, -0.12, 0.55, 0.2, 0.81, 0.05, 0.42, -0.3, 0.66]
    interval = analysis.signed_rank_interval(values)
    assert interval is not None
    for shift, inside in ((interval[0] - 1e-6, False), (interval[0] + 1e-6, True)):
        p = stats.wilcoxon([value - shift for value in values]).pvalue
        assert bool(p > 0.05) is inside


def test_five_values_have_no_95_percent_signed_rank_interval() -> None:
    assert analysis.signed_rank_interval(R1[:5]) is None
    found = analysis.estimate(R1[:5])
    assert (found.low, found.high) == analysis.t_interval(R1[:5])


def test_detectable_effect_matches_the_protocols_table() -> None:
    assert analysis.detectable(0.065, 20) == pytest.approx(0.037, abs=0.001)
    assert analysis.detectable(0.03, 32) == pytest.approx(0.013, abs=0.001)


def test_the_95_percent_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    draw = random.Random(7)  # noqa: S311
    covered = 0
    for _ in range(400):
        found = analysis.estimate([draw.gauss(0.05, 0.04) for _ in range(8)])
        covered += found.low <= 0.05 <= found.high
    assert 0.92 <= covered / 400 <= 0.98


def test_identical_configurations_are_seldom_called_better() -> None:
    draw = random.Random(11)  # noqa: S311
    verdicts = [compare([draw.gauss(0, 0.03) for _ in range(8)]).verdict for _ in range(400)]
    assert verdicts.count(Verdict.BETTER) / 400 <= 0.05


def test_a_clear_gain_is_better() -> None:
    result = compare([0.10, 0.12, 0.09, 0.11, 0.13, 0.10])
    assert result.verdict is Verdict.BETTER
    assert result.effect is not None
    assert result.effect.estimate == pytest.approx(math.expm1(0.1075), abs=0.005)
    assert result.p_better is not None
    assert result.p_better > 0.999


def test_less_latency_is_better_where_less_is_asked_for() -> None:
    result = compare([-0.10, -0.12, -0.09, -0.11, -0.13, -0.10], sign=-1)
    assert result.verdict is Verdict.BETTER
    assert result.effect is not None
    assert result.effect.ci_high < 0


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([-0.10, -0.12, -0.09, -0.11, -0.13, -0.10], Verdict.WORSE),
        ([0.001, -0.002, 0.003, -0.001, 0.002, 0.0], Verdict.NO_DIFFERENCE),
        ([0.010, 0.011, 0.009, 0.012, 0.010, 0.011], Verdict.NO_DIFFERENCE),
        ([0.3, -0.2, 0.25, -0.3, 0.1, 0.0], Verdict.INCONCLUSIVE),
    ],
)
def test_everything_else_is_not_better(ratios: list[float], verdict: Verdict) -> None:
    assert compare(ratios).verdict is verdict


def test_too_few_blocks_are_inconclusive_and_say_so() -> None:
    result = compare([0.5, 0.5, 0.5])
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason == "3 usable blocks; at least 4 are needed"


def test_p_better_of_equal_values_is_certain_or_even() -> None:
    assert analysis.p_better([0.1, 0.1, 0.1]) == 1.0
    assert analysis.p_better([0.0, 0.0]) == 0.5
    assert analysis.p_better([0.1]) == 0.5
