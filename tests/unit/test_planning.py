"""What a job plans from the noise of its host."""

import math
from dataclasses import replace

import pytest

from tests.builders import block, spec, window
from tuner.judge import analysis
from tuner.nouns.model import GATE_BLOCKS, PRESETS, Budget, Calibration, JobSpec, Measurement, Phase

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


def within(minutes: float, calibration: Calibration | None = None, **numbers: int) -> JobSpec:
    budget = PRESETS["standard"].model_copy(update={"minutes": minutes, **numbers})
    return analysis.within_minutes(spec(budget=budget), calibration)


@pytest.mark.parametrize(
    ("minutes", "given_up"),
    [
        (200, {}),
        (90, {"ablate_runs": 48, "confirm_blocks": 40}),
        (60, {"ablate_runs": 24, "confirm_blocks": 24}),
        (25, {"ablate_runs": 0, "race": 0, "confirm_blocks": 16, "conditions": 1}),
        (14, {"ablate_runs": 0, "race": 0, "confirm_blocks": 12, "scene_blocks": 0}),
    ],
)
def test_short_minutes_give_up_the_ablation_first_and_the_conditions_last(
    minutes: float, given_up: dict[str, int]
) -> None:
    assert within(minutes).budget.model_dump(include=set(given_up)) == given_up


@pytest.mark.parametrize("minutes", [16, 20, 30, 45, 60, 90, 120])
@pytest.mark.parametrize("calibration", [None, QUIET, USUAL, LOUD])
def test_a_job_with_the_shortest_search_ends_within_its_minutes(
    minutes: float, calibration: Calibration | None
) -> None:
    fitted = within(minutes, calibration)
    blocks = analysis.tuning_blocks(fitted, calibration)
    first = [*blocks[Phase.CALIBRATE], *blocks[Phase.SEARCH][: analysis.FEWEST_SEARCHED]]
    rest_s = analysis.after_search_s(fitted, calibration)
    assert analysis.expected_s(fitted, first) + rest_s <= 60 * minutes


def test_a_quiet_host_fits_more_into_the_same_minutes() -> None:
    assert within(30, QUIET).budget.race > within(30, LOUD).budget.race
    assert within(40, QUIET).budget.conditions > within(40, LOUD).budget.conditions


def test_slow_starts_that_the_calibration_saw_leave_less() -> None:
    slow = replace(QUIET, block_s=3 * 26.0)
    assert within(60, slow).budget.ablate_runs < within(60, QUIET).budget.ablate_runs


def test_what_fits_once_fits_as_it_is() -> None:
    for minutes in (16, 30, 60):
        once = within(minutes, USUAL)
        assert analysis.within_minutes(once, USUAL) == once


def test_a_budget_without_minutes_stays_whole() -> None:
    assert analysis.within_minutes(STANDARD, LOUD) is STANDARD


def test_the_smallest_job_says_its_minutes() -> None:
    fewest = analysis.fewest_minutes(STANDARD)
    assert 10 < fewest < 16
    smallest = within(fewest).budget
    assert (smallest.confirm_blocks, smallest.conditions, smallest.race) == (12, 0, 0)


def test_the_time_after_the_search_counts_every_arm_of_every_block() -> None:
    numbers = {"trials": 1, "race": 4, "race_blocks": 4, "ablate_runs": 24, "confirm_blocks": 10}
    budget = Budget(**numbers, cycles=3, window_s=2.0, warmup_s=1.0)
    assert budget.race_rounds == (4, 2)
    race = (4 * 5 + 8 * 3 + 2 * GATE_BLOCKS) * (1 + 2 * 2)  # two windows of each arm of a block
    ablation = 6 * 5 * (1 + 3 * 2)
    confirmation = 10 * 2 * (1 + 3 * 2)
    wanted = spec(budget=budget)
    starts = (4 * 5 + 8 * 3 + 2 * GATE_BLOCKS + 6 * 5 + 10 * 2) * wanted.target.start_s
    loud = replace(QUIET, block_sd=0.5, start_sd=0.3, window_sd=0.3)
    assert analysis.after_search_s(wanted, loud) == pytest.approx(
        1.2 * (race + ablation + confirmation + starts)
    )
