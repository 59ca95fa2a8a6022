"""The noise of a replayed host is what it says: level, lengths, weather, shape."""

import itertools
import math
from statistics import fmean, pstdev

import numpy as np
import pytest

from tests.benchmarks.replay.landscape import Truth
from tests.benchmarks.replay.noise import STANDARD, Noise, Weather, residuals
from tests.benchmarks.replay.tests.recorded import landscape, params, world
from tests.benchmarks.replay.world import World
from tests.builders import block
from tuner.judge.objective import log_ratio
from tuner.nouns.model import AS_BUDGETED, BlockOptions, MeasurementResult, Metric

RECORD = landscape()
TRUTH = Truth.of(RECORD).null()


def ratios(host: World, count: int, block_options: BlockOptions = AS_BUDGETED) -> list[float]:
    """Log ratios of blocks of two equal arms."""
    found = []
    for _ in range(count):
        outcome = host.block([params(), params()], STANDARD, block_options).outcome
        assert isinstance(outcome, MeasurementResult)
        ratio = log_ratio(block(outcome.windows), Metric.THROUGHPUT_RPS)
        assert ratio is not None
        found.append(ratio)
    return found


@pytest.mark.parametrize("level", [0.03, 0.08])
def test_the_level_is_the_spread_of_a_standard_block(level: float) -> None:
    spread = pstdev(ratios(world(TRUTH, RECORD, level=level), 2000), mu=0.0)
    assert spread == pytest.approx(level, rel=0.05)


def test_a_block_of_fewer_cycles_is_noisier_but_starts_count_as_before() -> None:
    level, start = 0.08, 0.015
    window = 4 * (level**2 / 2 - start**2)
    spread = pstdev(ratios(world(TRUTH, RECORD, level=level), 2000, BlockOptions(cycles=1)), mu=0.0)
    assert spread == pytest.approx(math.sqrt(2 * (start**2 + window)), rel=0.05)


def test_a_longer_window_is_quieter_by_the_root_of_its_length() -> None:
    noise = Noise(level=0.05)
    assert noise.window_sd(10.0) == pytest.approx(noise.window_sd(2.5) / 2)


def test_on_a_quiet_host_starts_have_half_of_the_variance() -> None:
    noise = Noise(level=0.01)
    assert 2 * noise.start_sd**2 == pytest.approx(noise.level**2 / 2)
    spread = pstdev(ratios(world(TRUTH, RECORD, level=0.01), 2000), mu=0.0)
    assert spread == pytest.approx(0.01, rel=0.05)


def test_bursts_make_blocks_noisier_than_the_level() -> None:
    noise = Noise(level=0.03, is_bad_machine=True)
    host = World(TRUTH, residuals(RECORD), noise, seed=1)
    assert pstdev(ratios(host, 400), mu=0.0) > 1.3 * noise.level


def test_bursts_take_three_tenths_for_a_fifth_of_the_time() -> None:
    weather = Weather(np.random.default_rng(1), is_bad=True)
    lost = [1 - math.exp(weather.bursts(at, at + 1.0)) for at in range(100_000)]
    assert fmean(lost) == pytest.approx(0.3 * 0.2, rel=0.1)
    assert max(lost) == pytest.approx(0.3)


def test_drift_moves_slowly_and_stays_within_its_limit() -> None:
    weather = Weather(np.random.default_rng(1), is_bad=False)
    walk = [weather.drift(5.0 * step) for step in range(20_000)]
    steps = [after - before for before, after in itertools.pairwise(walk)]
    assert max(abs(place) for place in walk) <= 0.15
    assert pstdev(steps) == pytest.approx(0.01, rel=0.05)
    assert max(walk) > 0.1
    assert min(walk) < -0.1


def test_residuals_are_in_units_of_the_throughputs_own_spread() -> None:
    shapes = residuals(RECORD)
    assert float(np.mean(shapes[:, 0] ** 2)) == pytest.approx(1.0)
    assert np.allclose(shapes[:, 2], -shapes[:, 0])  # in a closed loop latency mirrors throughput


def test_a_record_of_single_windows_says_nothing_of_noise() -> None:
    starts = tuple(
        start.model_copy(update={"readings": start.readings[:1]}) for start in RECORD.starts
    )
    with pytest.raises(ValueError, match="two windows"):
        residuals(RECORD.model_copy(update={"starts": starts}))
