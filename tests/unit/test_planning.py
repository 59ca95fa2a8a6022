"""What a job plans from the noise of its host."""

import math
from dataclasses import replace

import pytest

from tests.builders import block, spec, window
from tuner.judge import analysis
from tuner.nouns.model import PRESETS, Calibration, JobSpec, Measurement, Phase

STANDARD = spec(budget=PRESETS["standard"])
NOISY = spec(budget=PRESETS["noisy"])


def host(start_sd: float, window_sd: float, cycles: int = 4) -> Calibration:
    """A host whose calibration had so many windows of each arm in a block."""
    block_sd = math.sqrt(2 * (start_sd**2 + window_sd**2 / cycles))
    return Calibration(
        blocks=4,
        bias=0.0,
        bias_ci_low=-0.1,
        bias_ci_high=0.1,
        block_sd=block_sd,
        mde=0.02,
        throughput_rps=100.0,
        resolves_min_effect=True,
        start_sd=start_sd,
        window_sd=window_sd,
    )


QUIET = host(0.005, 0.01)
USUAL = host(0.015, 0.03)
LOUD = host(0.015, 0.109)


def raced(*ratios: float, number: int = 1) -> list[Measurement]:
    """Blocks of the race in which a candidate had these log ratios to the baseline."""
    return [
        block(
            [window(0, 100), window(1, 100 * math.exp(ratio))],
            arms=(0, number),
            phase=Phase.RACE,
            sequence=sequence,
        )
        for sequence, ratio in enumerate(ratios, start=1)
    ]


@pytest.mark.parametrize(
    ("calibration", "wanted", "cycles"),
    [(QUIET, STANDARD, 2), (USUAL, STANDARD, 2), (LOUD, STANDARD, 4), (None, STANDARD, 4)],
)
def test_a_block_has_as_few_windows_as_the_noise_allows(
    calibration: Calibration | None, wanted: JobSpec, cycles: int
) -> None:
    assert analysis.block_cycles(calibration, wanted) == cycles


def test_a_slow_app_keeps_the_windows_that_show_its_errors() -> None:
    slow = replace(QUIET, throughput_rps=15.0)
    assert 15.0 * 2.5 * 40 * 4 > 5000 > 15.0 * 2.5 * 40 * 3
    assert analysis.block_cycles(slow, STANDARD) == 4


def test_a_host_between_quiet_and_loud_has_windows_between() -> None:
    assert analysis.block_cycles(host(0.015, 0.06), NOISY) == 7
    assert 2 * (0.015**2 + 0.06**2 / 7) <= 0.04**2 < 2 * (0.015**2 + 0.06**2 / 6)


@pytest.mark.parametrize(
    ("calibration", "blocks"), [(QUIET, 12), (USUAL, 33), (LOUD, 40), (None, 40)]
)
def test_a_confirmation_has_twice_the_blocks_that_it_needs(
    calibration: Calibration | None, blocks: int
) -> None:
    assert analysis.blocks_to_confirm(calibration, STANDARD) == blocks


def test_a_smaller_effect_of_interest_needs_more_blocks() -> None:
    finer = STANDARD.model_copy(update={"min_effect": 0.005})
    assert analysis.blocks_to_confirm(QUIET, finer) == 40


def test_a_short_confirmation_stays_short() -> None:
    assert analysis.blocks_to_confirm(LOUD, spec(budget=PRESETS["demo"])) == 8


@pytest.mark.parametrize(
    ("calibration", "runs", "cycles"), [(QUIET, 24, 2), (USUAL, 72, 4), (LOUD, 96, 4)]
)
def test_an_ablation_is_the_shortest_that_knows_a_line(
    calibration: Calibration, runs: int, cycles: int
) -> None:
    assert analysis.ablating(calibration, (), STANDARD) == analysis.Ablating(runs, cycles)


def test_without_a_calibration_it_is_that_of_the_budget() -> None:
    assert analysis.ablating(None, (), STANDARD) == analysis.Ablating(96, 4)


def test_a_race_that_scatters_more_asks_for_more_runs_and_an_effect_does_not() -> None:
    calm = raced(0.20, 0.21, 0.20, 0.19)
    assert analysis.ablating(QUIET, calm, STANDARD) == analysis.Ablating(24, 2)
    wild = raced(0.10, 0.30, 0.20, 0.15)
    assert analysis.ablating(QUIET, wild, STANDARD).runs > 48


def test_where_the_parts_of_the_noise_are_unknown_that_of_a_block_counts() -> None:
    unknown = replace(QUIET, start_sd=None, window_sd=None, block_sd=0.05)
    assert analysis.block_cycles(unknown, STANDARD) == 4
    assert analysis.ablating(unknown, (), STANDARD).runs == 96
