"""Looks at a confirmation: their bounds, when they end it, and what may be said afterwards."""

import math
from dataclasses import dataclass
from statistics import median

import numpy as np
import pytest
from scipy import special

from tuner.judge import analysis
from tuner.judge.analysis import Confirmation

ENOUGH = math.log1p(0.02)
BLOCKS = 24
SD = 0.05
UNIT = SD / math.sqrt(8)  # what the first look knows its mean by
EFFECTS = (0.0, 0.5 * UNIT, 1.0 * UNIT, 2.0 * UNIT)
RUNS = 500  # of each effect
UNDECIDED = [0.10, -0.02, 0.09, 0.01, 0.12, -0.03, 0.08, 0.05]
CONVINCING = [0.07, 0.10, 0.04, 0.09]


def confirm(
    gains: list[float], blocks: int, *, enough: float = ENOUGH, looks: int | None = None
) -> Confirmation:
    """The confirmation that has seen these gains, at so many of its looks."""
    made = [gains[:look] for look in analysis.looks_of(blocks)[:looks]]
    return analysis.confirm(made, blocks, enough=enough)


def noisy(mean: float, count: int, *, seed: int = 1, sd: float = SD) -> list[float]:
    return [float(gain) for gain in np.random.default_rng(seed).normal(mean, sd, count)]


@pytest.mark.parametrize(
    ("blocks", "looks"),
    [(4, (4,)), (6, (6,)), (8, (6, 7, 8)), (40, tuple(range(6, 41)))],
)
def test_looks_come_after_six_blocks_and_then_after_each(
    blocks: int, looks: tuple[int, ...]
) -> None:
    assert analysis.looks_of(blocks) == looks


def test_bounds_of_five_equally_spaced_looks_are_those_of_the_literature() -> None:
    """They spend 1, 3, 5, 7 and 9 of 25 parts of 2.5 %."""
    bounds = analysis.upper_bounds((10, 20, 30, 40, 50))
    assert bounds == pytest.approx((3.090, 2.714, 2.473, 2.280, 2.114), abs=0.001)


@pytest.mark.parametrize("blocks", [12, 24, 40])
def test_each_look_spends_the_square_of_its_share_of_blocks(blocks: int) -> None:
    looks = analysis.looks_of(blocks)
    gains = np.random.default_rng(4).standard_normal((40_000, blocks))
    z = gains.cumsum(axis=1)[:, np.array(looks) - 1] / np.sqrt(looks)
    half = len(looks) // 2
    spent = crossings(z[:, :half], looks[:half], blocks)
    assert spent == pytest.approx(0.025 * (looks[half - 1] / blocks) ** 2, abs=0.0015)


def crossings(statistics: np.ndarray, looks: tuple[int, ...], blocks: int) -> float:
    """The share of rows in which some look crosses its bound; one column for each look."""
    bounds = np.array(analysis.upper_bounds(analysis.looks_of(blocks)))[: len(looks)]
    return float((statistics >= bounds).any(axis=1).mean())


@pytest.mark.parametrize("blocks", [12, 18, 40, 80])
def test_all_looks_together_claim_by_chance_in_one_of_forty_runs(blocks: int) -> None:
    looks = analysis.looks_of(blocks)
    gains = np.random.default_rng(2).standard_normal((20_000, blocks))
    z = gains.cumsum(axis=1)[:, np.array(looks) - 1] / np.sqrt(looks)
    assert crossings(z, looks, blocks) == pytest.approx(0.025, abs=0.0035)  # three standard errors


def test_a_spread_that_is_estimated_hardly_adds_false_claims() -> None:
    looks, found = analysis.looks_of(40), []
    gains = np.random.default_rng(3).standard_normal((20_000, 40))
    for n in looks:
        t = gains[:, :n].mean(axis=1) / gains[:, :n].std(axis=1, ddof=1) * math.sqrt(n)
        found.append(-special.ndtri(special.stdtr(n - 1, -t)))
    assert 0.02 <= crossings(np.array(found).T, looks, 40) <= 0.03


@dataclass(frozen=True, slots=True)
class Simulated:
    """Many confirmations of one true effect."""

    effect: float
    runs: list[Confirmation]

    @property
    def covered(self) -> float:
        """Share of the intervals that hold the effect."""
        return sum(r.estimate.low <= self.effect <= r.estimate.high for r in self.runs) / RUNS

    @property
    def median_bias(self) -> float:
        """Of the estimates, in standard errors of a first look."""
        return (median(run.estimate.value for run in self.runs) - self.effect) / UNIT

    @property
    def naive_bias(self) -> float:
        """Of the estimates that know nothing of the other looks."""
        return (median(run.looks[-1].estimate for run in self.runs) - self.effect) / UNIT


@pytest.fixture(scope="module")
def simulated() -> list[Simulated]:
    draw = np.random.default_rng(11)
    return [
        Simulated(
            effect,
            [confirm(gains, BLOCKS) for gains in draw.normal(effect, SD, (RUNS, BLOCKS)).tolist()],
        )
        for effect in EFFECTS
    ]


@pytest.mark.full
def test_the_interval_covers_the_truth_as_often_as_it_says(simulated: list[Simulated]) -> None:
    assert all(0.92 <= found.covered <= 0.98 for found in simulated)
    assert 0.93 <= sum(found.covered for found in simulated) / len(simulated) <= 0.97


@pytest.mark.full
def test_the_estimate_is_as_often_too_high_as_too_low(simulated: list[Simulated]) -> None:
    assert all(abs(found.median_bias) < 0.1 for found in simulated)


@pytest.mark.full
def test_without_the_correction_it_would_not_be(simulated: list[Simulated]) -> None:
    """Or the test above would show nothing: what ends as futile does so in its worst moments."""
    assert max(abs(found.naive_bias) for found in simulated) > 0.15


@pytest.mark.full
def test_where_there_is_nothing_it_ends_early_and_seldom_claims(
    simulated: list[Simulated],
) -> None:
    runs = simulated[0].runs
    assert sum(run.looks[-1].blocks for run in runs) / RUNS < 0.7 * BLOCKS
    assert sum(run.is_futile for run in runs) / RUNS > 0.7
    assert sum(run.crossed for run in runs) / RUNS < 0.05


@pytest.mark.full
def test_an_end_is_never_on_the_wrong_arm_of_the_value(simulated: list[Simulated]) -> None:
    estimates = [run.estimate for found in simulated for run in found.runs]
    assert all(found.low <= found.value <= found.high for found in estimates)


@pytest.mark.full
def test_every_confirmation_ends_at_the_latest_with_its_last_look(
    simulated: list[Simulated],
) -> None:
    runs = [run for found in simulated for run in found.runs]
    assert all(run.ended for run in runs)
    assert {run.looks[-1].blocks for run in runs} == set(analysis.looks_of(BLOCKS))
    assert all(run.crossed == (run.looks[-1].z >= run.looks[-1].bound) for run in runs)


def test_a_huge_gain_is_claimed_at_the_first_look_and_needs_no_correction() -> None:
    gains = noisy(1.0, 40)
    found = confirm(gains, 40)
    assert found.ended
    assert found.crossed
    assert [look.blocks for look in found.looks] == [6]
    assert found.estimate == analysis.estimate(gains[:6])


def test_a_single_look_is_an_ordinary_test() -> None:
    gains = noisy(0.05, 4)
    found = confirm(gains, 4)
    assert found.ended
    assert found.looks[0].bound == pytest.approx(1.96, abs=0.001)
    assert found.estimate == analysis.estimate(gains)


def test_a_gain_claimed_at_a_late_look_is_less_than_it_looks() -> None:
    gains = UNDECIDED + CONVINCING
    found = confirm(gains, 12)
    assert [look.blocks for look in found.looks] == list(range(6, 11))
    assert found.crossed
    naive = analysis.estimate(gains)
    assert naive.value - 0.02 < found.estimate.value < naive.value
    assert 0 < found.estimate.low < naive.low


def test_a_candidate_that_is_clearly_worse_ends_it_at_once() -> None:
    found = confirm(noisy(-0.3, 40), 40)
    assert found.ended
    assert not found.crossed
    assert len(found.looks) == 1
    assert found.estimate.high < 0


def test_a_gain_too_small_to_matter_is_futile_although_it_is_there() -> None:
    found = confirm(noisy(0.004, 40, sd=0.01), 40)
    assert found.ended
    assert found.is_futile
    assert not found.crossed


def test_what_is_neither_clear_nor_futile_goes_on() -> None:
    found = confirm(UNDECIDED, 40, looks=1)
    assert (found.ended, found.crossed, found.is_futile) == (False, False, False)


def test_looks_beyond_the_end_are_left_out() -> None:
    gains = noisy(1.0, 40)
    assert confirm(gains, 40) == confirm(gains, 40, looks=1)


@pytest.mark.parametrize(("gain", "crossed"), [(0.1, True), (0.0, False), (-0.1, False)])
def test_equal_gains_are_certain(gain: float, crossed: bool) -> None:
    found = confirm([gain] * 16, 16)
    assert found.ended
    assert found.crossed is crossed
    assert found.is_futile is not crossed
    assert found.estimate == analysis.Estimate(gain, gain, gain)
    assert math.isfinite(found.looks[0].z)
    assert np.sign(found.looks[0].z) == np.sign(gain)


def test_equal_gains_after_a_look_that_knew_nothing_stay_as_they_are() -> None:
    found = analysis.confirm([[0.1] * 3, [0.1] * 7], 16, enough=ENOUGH)
    assert found.crossed
    assert found.estimate == analysis.Estimate(0.1, 0.1, 0.1)


def test_fewer_than_four_usable_blocks_say_nothing() -> None:
    found = analysis.confirm([[0.5, 0.5, 0.5]], 12, enough=ENOUGH)
    assert not found.ended
    assert found.looks[0].z == 0
    assert found.looks[0].low < -10 < 10 < found.looks[0].high
    assert found.estimate.value == 0.5


@pytest.mark.parametrize("gains", [[], [0.5], [0.5, 0.4, 0.6]])
def test_a_last_look_without_data_ends_it_without_a_claim(gains: list[float]) -> None:
    found = analysis.confirm([gains], 4, enough=ENOUGH)
    assert found.ended
    assert not found.crossed
    assert math.isfinite(found.estimate.low)
    assert math.isfinite(found.estimate.high)


def test_a_look_without_new_blocks_only_has_the_lower_bound() -> None:
    gains = UNDECIDED + CONVINCING
    found = analysis.confirm([UNDECIDED, UNDECIDED, gains], 16, enough=ENOUGH)
    assert [look.blocks for look in found.looks] == [8, 8, 12]
    assert found.looks[0].z == found.looks[1].z
    assert found.looks[0].bound > found.looks[2].bound
    assert 0 < found.estimate.low < found.estimate.value < found.estimate.high


def test_no_look_yet_says_nothing_and_ends_nothing() -> None:
    found = analysis.confirm([], 40, enough=ENOUGH)
    assert found.looks == ()
    assert not found.ended
    assert found.estimate.low < -10 < 10 < found.estimate.high


def test_more_looks_than_planned_are_refused() -> None:
    with pytest.raises(ValueError, match="3 looks; 2 are planned"):
        analysis.confirm([[0.1] * 6, [0.1] * 7, [0.1] * 8], 7, enough=ENOUGH)


def test_whoever_stops_it_where_it_looks_best_has_an_interval_that_holds() -> None:
    """The worst somebody can do: stop at the look with the highest z, or with the lowest."""
    held = 0
    for seed in range(RUNS):
        gains = noisy(0.0, BLOCKS, seed=seed)
        pick = max if seed % 2 else min
        look = pick(
            range(6, BLOCKS), key=lambda n: np.mean(gains[:n]) / np.std(gains[:n]) * math.sqrt(n)
        )
        seen = confirm(gains, BLOCKS, enough=-1.0, looks=look - 5)
        if seen.ended:  # by itself, before anybody stopped it
            held += not seen.crossed
            continue
        made = [gains[:n] for n in range(6, look + 1)]
        found = analysis.confirm(made, BLOCKS, enough=-1.0, is_stopped=True)
        assert found.ended
        assert not found.crossed
        held += found.estimate.low <= 0 <= found.estimate.high
    assert held / RUNS >= 0.95
