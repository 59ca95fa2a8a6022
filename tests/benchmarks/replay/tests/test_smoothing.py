"""A rough record is drawn towards what its parameters add up to, and no further than its noise."""

import math
from statistics import fmean

import pytest

from tests.benchmarks.replay.landscape import Truth
from tests.benchmarks.replay.smoothing import optimism
from tests.benchmarks.replay.tests.recorded import Planted, by_slots, landscape, params
from tuner.nouns.model import Params


def off_by(truth: Truth, planted: Planted) -> float:
    """Root mean square of what the truth is off, over all recorded configurations."""
    grid = [p for p in truth.configurations if p["processes"] in (1, 2, 4, 8, 16)]
    errors = [(truth.gain(p) or 0.0) - planted(p) + planted(params()) for p in grid]
    return math.sqrt(fmean(error**2 for error in errors))


def with_a_peak(asked: Params) -> float:
    """Quiet logging is worth 40 % more at one place only."""
    is_there = asked["processes"] == 4 and asked["logging"] == "errors-only"
    return by_slots(asked) + 0.4 * is_there


def test_noise_is_smoothed_away_where_parameters_add_up() -> None:
    rough = landscape(start_sd=0.04, rounds=3)
    plain, smooth = Truth.of(rough), Truth.of(rough, is_smoothed=True)
    assert off_by(smooth, by_slots) < 0.85 * off_by(plain, by_slots)
    assert smooth.standard_error < plain.standard_error


def test_a_record_without_noise_stays_as_it_is() -> None:
    smooth = Truth.of(landscape(with_a_peak), is_smoothed=True)
    assert off_by(smooth, with_a_peak) == pytest.approx(0.0, abs=1e-9)


def test_a_real_interaction_outlives_the_smoothing() -> None:
    smooth = Truth.of(landscape(with_a_peak, start_sd=0.03, rounds=4), is_smoothed=True)
    peak = smooth.gain(params(4, logging="errors-only"))
    assert peak is not None
    assert peak - (smooth.gain(params(4)) or 0.0) > 0.06 + 0.3


def test_the_users_own_file_still_gains_nothing() -> None:
    smooth = Truth.of(landscape(start_sd=0.04), is_smoothed=True)
    assert smooth.gain(params()) == 0.0


def test_nothing_is_smoothed_where_the_noise_is_not_known() -> None:
    once = landscape(start_sd=0.04, rounds=1)
    asked = params(8)
    assert Truth.of(once, is_smoothed=True).gain(asked) == Truth.of(once).gain(asked)


def test_the_best_of_a_noisy_record_looks_better_than_it_is() -> None:
    def flat(asked: Params) -> float:
        return 0.0

    noisy = optimism(landscape(flat, start_sd=0.04, rounds=4))
    quiet = optimism(landscape(rounds=4))
    assert noisy is not None
    assert noisy > 0.03
    assert quiet == pytest.approx(0.0, abs=1e-9)
    assert optimism(landscape(rounds=1)) is None
