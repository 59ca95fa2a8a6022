"""Equal files against each other: noise, bias, alternation."""

import math
import random
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOON, block, shaken_block, spec, window
from tuner.judge import analysis
from tuner.judge.analysis.calibrating import alternation_period_s
from tuner.nouns.model import (
    SERIES_STEP_S,
    Calibration,
    Doubt,
    Measurement,
    MeasurementResult,
    Metric,
    Window,
)


def a_a_block(draw: random.Random, *, start: float, noise: float, bias: float = 0.0) -> Measurement:
    """Four windows an arm; `start` and `noise` are standard deviations of logs."""
    windows = []
    for arm in (0, 1):
        level = draw.gauss(0, start) + bias * arm
        windows += [
            window(arm, 1000 * math.exp(level + draw.gauss(0, noise)), index=2 * n + arm)
            for n in range(4)
        ]
    return block(windows, arms=(0, 0))


def calibrated(blocks: list[Measurement], confirm_blocks: int = 8) -> Calibration:
    found = analysis.calibrate(
        blocks, metric=Metric.THROUGHPUT_RPS, confirm_blocks=confirm_blocks, min_effect=0.02
    )
    assert found is not None
    return found


def set_of(draw: random.Random, blocks: int, bias: float = 0.0) -> list[Measurement]:
    return [a_a_block(draw, start=0.015, noise=0.03, bias=bias) for _ in range(blocks)]


def test_the_spread_of_a_block_is_taken_about_zero() -> None:
    blocks = [
        block([window(0, 100), window(1, 100 * math.exp(ratio))], arms=(0, 0))
        for ratio in (0.03, -0.04)
    ]
    found = calibrated(blocks)
    assert found.block_sd == pytest.approx(math.sqrt((0.0009 + 0.0016) / 2))
    assert not found.resolves_min_effect
    assert not analysis.is_biased(found)


def test_void_windows_are_not_in_the_median_of_the_throughput() -> None:
    void = window(1, 2, index=9, doubts=(Doubt.PORTS_EXHAUSTED,))
    blocks = [
        block([window(0, 100), window(1, 104), void, void], arms=(0, 0)),
        block([window(0, 101), window(1, 99), void, void], arms=(0, 0)),
    ]
    found = calibrated(blocks)
    assert found.throughput_rps == pytest.approx(100.5)
    own = spec(min_effect=0.5)
    assert analysis.unlike(found, [*blocks, *blocks], own) is None, "the same host"


def test_noise_of_starts_is_told_from_noise_of_windows() -> None:
    draw = random.Random(5)  # noqa: S311
    found = calibrated([a_a_block(draw, start=0.04, noise=0.02) for _ in range(400)])
    assert found.start_sd == pytest.approx(0.04, rel=0.1)
    assert found.window_sd == pytest.approx(0.02, rel=0.1)


def test_where_only_windows_scatter_no_noise_of_starts_is_made_up() -> None:
    draw = random.Random(6)  # noqa: S311
    found = calibrated([a_a_block(draw, start=0.0, noise=0.03) for _ in range(400)])
    assert found.start_sd == pytest.approx(0.0, abs=0.008)
    assert found.window_sd == pytest.approx(0.03, rel=0.1)


def test_one_window_an_arm_cannot_tell_the_two_noises_apart() -> None:
    found = calibrated([block([window(0), window(1, 103)], arms=(0, 0)) for _ in range(4)])
    assert (found.start_sd, found.window_sd) == (None, None)


def test_the_speed_of_the_cpu_is_no_noise() -> None:
    draw = random.Random(7)  # noqa: S311
    blocks = set_of(draw, 8)
    quiet, noisy = calibrated(blocks), calibrated([shaken_block(each, draw) for each in blocks])
    assert noisy.bias == pytest.approx(quiet.bias)
    assert noisy.block_sd == pytest.approx(quiet.block_sd)
    assert noisy.start_sd == pytest.approx(quiet.start_sd)
    assert noisy.window_sd == pytest.approx(quiet.window_sd)


def test_the_rungs_of_a_ladder_are_no_noise() -> None:
    windows = [
        window(arm, rps, connections=connections)
        for arm in (0, 1)
        for connections, rps in ((10, 100.0), (100, 900.0), (10, 100.0), (100, 900.0))
    ]
    found = calibrated([block(windows, arms=(0, 0))] * 3)
    assert found.window_sd == 0


def test_fewer_than_two_usable_blocks_calibrate_nothing() -> None:
    blocks = [block([window(0), window(1)], arms=(0, 0)), block([window(0)], arms=(0, 0))]
    assert (
        analysis.calibrate(blocks, metric=Metric.THROUGHPUT_RPS, confirm_blocks=8, min_effect=0.02)
        is None
    )


@pytest.mark.full
@pytest.mark.parametrize("blocks", [2, 4, 8])
def test_an_unbiased_host_is_hardly_ever_called_biased(blocks: int) -> None:
    draw = random.Random(blocks)  # noqa: S311
    alarms = sum(analysis.is_biased(calibrated(set_of(draw, blocks))) for _ in range(1000))
    assert alarms <= 4  # one is expected; five or more come by chance in 0.4 % of all such tests


@pytest.mark.full
def test_eight_blocks_mostly_find_a_bias_of_five_percent() -> None:
    draw = random.Random(9)  # noqa: S311
    found = sum(analysis.is_biased(calibrated(set_of(draw, 8, bias=0.05))) for _ in range(200))
    assert found >= 100


def test_two_blocks_say_that_they_could_not_have_seen_a_bias() -> None:
    draw = random.Random(10)  # noqa: S311
    few, many = calibrated(set_of(draw, 2)), calibrated(set_of(draw, 16))
    assert analysis.smallest_bias(few) is None
    bias = analysis.smallest_bias(many)
    assert bias is not None
    assert 0.01 < bias < 0.06


def test_headroom_hosts_and_wall_time_come_along() -> None:
    done = block([window(0, client_cpu=0.3), window(1, client_cpu=0.6)], arms=(0, 0))
    result = MeasurementResult(windows=done.windows, setup_s=1.0, load_s=9.0)
    found = calibrated([replace(done, result=result, host=host) for host in ("b", "a", "b")])
    assert found.client_cpu == 0.6
    assert found.hosts == ("a", "b")
    assert found.block_s == 10.0


def test_what_a_host_sees_in_an_hour_follows_from_noise_and_length_of_its_blocks() -> None:
    assert analysis.mde_after(60, 0.03, 36.0) == pytest.approx(analysis.detectable(0.03, 100))
    assert analysis.mde_after(1, 0.03, 36.0) is None


def series_block(rates: list[float], windows: int, window_s: float) -> Measurement:
    """A block whose windows cut the rates (per step) into equal parts, arms in turns."""
    steps = round(window_s / SERIES_STEP_S)
    made: list[Window] = []
    for n in range(windows):
        part = rates[n * steps : (n + 1) * steps]
        head = (round(part[0]), round(part[0]))  # of 0.5 s, discarded
        made.append(
            window(
                n % 2,
                index=n,
                started_at=NOON + timedelta(seconds=n * window_s),
                duration_s=window_s,
                series=head + tuple(round(rate) for rate in part),
            )
        )
    return block(made, arms=(0, 0))


def test_on_a_host_with_even_noise_long_windows_waste_least_time() -> None:
    draw = random.Random(1)  # noqa: S311
    blocks = [series_block([draw.gauss(1000, 50) for _ in range(320)], 8, 10) for _ in range(8)]
    found = alternation_period_s(blocks)
    assert found is not None
    assert found >= 2.5


def test_on_a_host_that_drifts_short_windows_cancel_the_drift() -> None:
    draw = random.Random(2)  # noqa: S311
    blocks = []
    for _ in range(8):
        level, rates = 1000.0, []
        for _ in range(320):
            level *= 1 + draw.gauss(0, 0.02)
            rates.append(level)
        blocks.append(series_block(rates, 8, 10))
    found = alternation_period_s(blocks)
    assert found is not None
    assert found <= 1.0


def test_too_short_a_record_chooses_no_alternation() -> None:
    assert alternation_period_s([series_block([1000.0] * 16, 2, 2.0)]) is None
