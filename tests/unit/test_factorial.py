"""Factorial designs, and the effects that come out of them."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from tuner.judge import analysis
from tuner.nouns.model import Ablation, Factor

BLOCK = 4  # runs
DRIFT = 0.15  # standard deviation from one block to the next
FOUR_PERCENT = math.log(1.04)


def signs(rows: Sequence[Sequence[bool]]) -> np.ndarray:
    return np.where(np.array(rows), 1, -1)


def blocks_of(runs: int) -> list[int]:
    return [run // BLOCK for run in range(runs)]


def measured(
    rows: Sequence[Sequence[bool]], effects: Sequence[float], sd: float, draw: np.random.Generator
) -> list[float]:
    """Logs of runs in blocks that drift apart, each with the effects of its factors."""
    blocks = blocks_of(len(rows))
    drift = draw.normal(0, DRIFT, blocks[-1] + 1)[blocks]
    noise = draw.normal(0, sd, len(rows))
    logs: list[float] = (np.array(rows) @ np.array(effects) + drift + noise).tolist()
    return logs


def effects_of(
    rows: Sequence[Sequence[bool]], groups: Sequence[int], logs: Sequence[float]
) -> Ablation | None:
    """The factors are named by their columns."""
    names = [(str(column),) for column in range(len(rows[0]) if rows else 0)]
    return analysis.factorial_effects(names, rows, groups, logs)


def fitted(
    rows: Sequence[Sequence[bool]], logs: Sequence[float], groups: Sequence[int] | None = None
) -> Ablation:
    found = effects_of(rows, blocks_of(len(rows)) if groups is None else groups, logs)
    assert found is not None
    assert found.runs == len(rows)
    return found


def half_width(factor: Factor) -> float:
    return (factor.high - factor.low) / 2


@pytest.mark.parametrize(
    ("factors", "runs", "expected"),
    [
        (1, 24, 24),
        (11, 48, 48),
        (11, 71, 48),
        (5, 0, 24),
        (12, 48, 48),
        (23, 24, 48),
        (12, 144, 144),
    ],
)
def test_a_design_has_whole_replicates_and_at_least_one(
    factors: int, runs: int, expected: int
) -> None:
    rows = analysis.design(factors, runs, 1)
    assert len(rows) == expected
    assert {len(row) for row in rows} == {factors}


@pytest.mark.parametrize("factors", [0, 24])
def test_a_number_of_factors_that_no_design_has_is_refused(factors: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 23"):
        analysis.design(factors, 48, 1)
    with pytest.raises(ValueError, match="from 1 to 23"):
        analysis.columns(factors)


@pytest.mark.parametrize("factors", [1, 5, 11, 12, 23])
def test_more_factors_up_to_the_columns_take_no_more_runs(factors: int) -> None:
    columns = analysis.columns(factors)
    assert len(analysis.design(columns, 0, 1)) == len(analysis.design(factors, 0, 1))
    if columns < analysis.MOST_FACTORS:
        assert len(analysis.design(columns + 1, 0, 1)) > len(analysis.design(factors, 0, 1))


@pytest.mark.parametrize("factors", [1, 7, 11, 12, 23])
def test_columns_are_balanced_and_tell_nothing_of_each_other(factors: int) -> None:
    found = signs(analysis.design(factors, 96, 5))
    assert (found.sum(axis=0) == 0).all()
    assert (found.T @ found == len(found) * np.eye(factors)).all()


@pytest.mark.parametrize("factors", [3, 11, 23])
def test_no_effect_has_what_two_factors_do_together_in_it(factors: int) -> None:
    found = signs(analysis.design(factors, 96, 5))
    for first in range(factors):
        for second in range(first):
            together = found[:, first] * found[:, second]
            assert (found.T @ together == 0).all()


@pytest.mark.parametrize("factors", [4, 20])
def test_every_row_is_followed_by_its_mirror_image(factors: int) -> None:
    rows = analysis.design(factors, 96, 5)
    for row, mirror in zip(rows[::2], rows[1::2], strict=True):
        assert all(one is not other for one, other in zip(row, mirror, strict=True))


def test_a_design_is_the_same_for_the_same_seed_only() -> None:
    assert analysis.design(6, 48, 1) == analysis.design(6, 48, 1)
    assert analysis.design(6, 48, 1) != analysis.design(6, 48, 2)


def test_each_replicate_hides_other_effects_in_each_other() -> None:
    rows = analysis.design(6, 48, 1)
    assert sorted(rows[:24]) != sorted(rows[24:])


def test_planted_effects_are_found_although_blocks_drift() -> None:
    effects = [0.08, -0.05, 0.0, 0.03, 0.0, 0.12, 0.0]
    rows = analysis.design(len(effects), 48, 3)
    found = fitted(rows, measured(rows, effects, 0.01, np.random.default_rng(3)))
    assert [each.effect for each in found.factors] == pytest.approx(effects, abs=0.012)
    assert found.sd == pytest.approx(0.01, rel=0.3)


def test_the_interval_of_an_effect_covers_the_truth_as_often_as_it_says() -> None:
    draw, covered = np.random.default_rng(7), []
    effects = [0.08, -0.05, 0.0, 0.03, 0.0, 0.12, 0.0]
    for seed in range(300):
        rows = analysis.design(len(effects), 24, seed)
        estimates = fitted(rows, measured(rows, effects, 0.05, draw)).factors
        covered += [
            each.low <= effect <= each.high for each, effect in zip(estimates, effects, strict=True)
        ]
    assert sum(covered) / len(covered) == pytest.approx(0.95, abs=0.015)


def test_without_noise_the_effects_are_exact() -> None:
    effects = [0.08, -0.05, 0.0]
    rows = analysis.design(3, 24, 3)
    found = fitted(rows, measured(rows, effects, 0.0, np.random.default_rng(3)))
    assert [estimate.effect for estimate in found.factors] == pytest.approx(effects)
    assert [estimate.is_kept for estimate in found.factors] == [True, False, False]


def test_the_error_of_an_effect_is_that_of_an_ideal_design() -> None:
    rows = analysis.design(11, 48, 3)
    found = fitted(rows, measured(rows, [0.0] * 11, 0.05, np.random.default_rng(3)))
    error = 2 * found.sd / math.sqrt(48)
    half = analysis.student_quantile(48 - 12 - 11, 0.95) * error  # 12 blocks, 11 factors
    assert [half_width(each) for each in found.factors] == pytest.approx([half] * 11, rel=1e-6)


def test_interval_and_p_are_those_of_students_t() -> None:
    """By hand: two blocks of (off, on), differences 0.1 and 0.3; t = 2 with one degree."""
    found = fitted_pairs(0.1, 0.3)
    assert found.effect == pytest.approx(0.2)
    assert found.p == pytest.approx(0.147584, abs=1e-5)
    assert (found.low, found.high) == pytest.approx((0.2 - 1.27062, 0.2 + 1.27062), abs=1e-4)


def fitted_pairs(*differences: float) -> Factor:
    logs = [log for place, d in enumerate(differences) for log in (place, place + d)]
    rows = [(on,) for _ in differences for on in (False, True)]
    found = fitted(rows, logs, [run // 2 for run in range(len(rows))])
    return found.factors[0]


def test_equal_runs_are_no_effect_rather_than_a_certain_one() -> None:
    found = fitted_pairs(0.0, 0.0, 0.0)
    assert (found.effect, found.p, half_width(found)) == (0, 0.5, 0)
    assert not found.is_kept


def test_a_gain_that_is_clear_but_below_one_percent_is_not_kept() -> None:
    found = fitted_pairs(0.0090, 0.0091, 0.0089, 0.0090)
    assert found.p < 0.001
    assert not found.is_kept
    assert fitted_pairs(0.0110, 0.0111, 0.0109, 0.0110).is_kept


def test_a_large_gain_that_may_be_chance_is_not_kept() -> None:
    found = fitted_pairs(0.4, -0.2, 0.1)
    assert found.effect == pytest.approx(0.1)
    assert found.p > analysis.KEEP_P
    assert not found.is_kept


def test_a_factor_that_never_changed_within_a_block_is_not_told() -> None:
    draw = np.random.default_rng(4)
    rows = [(first, run // BLOCK % 2 == 0, False) for run, (first,) in enumerate(random_rows(24))]
    found = fitted(rows, measured(rows, [0.1, 0.5, 0.0], 0.01, draw))
    (estimate,) = found.factors
    assert estimate.parameters == ("0",)
    assert estimate.effect == pytest.approx(0.1, abs=0.02)


def test_factors_that_only_changed_together_are_not_told_apart_from_each_other() -> None:
    draw = np.random.default_rng(4)
    rows = [(a, b, a) for a, b in analysis.design(2, 48, 1)]
    found = fitted(rows, measured(rows, [0.1, 0.2, 0.3], 0.01, draw))
    (second,) = found.factors
    assert second.parameters == ("1",)
    assert second.effect == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize("runs", [0, 1, 4])
def test_no_more_runs_than_there_is_to_estimate_say_nothing(runs: int) -> None:
    rows = [(run in (1, 2), run in (1, 3), run == 3) for run in range(runs)]
    assert effects_of(rows, [0] * runs, [0.1 * run for run in range(runs)]) is None


def test_runs_that_are_missing_from_a_design_cost_precision_only() -> None:
    effects = [0.08, 0.0, 0.04, 0.0]
    rows, blocks = analysis.design(4, 48, 3), blocks_of(48)
    logs = measured(rows, effects, 0.02, np.random.default_rng(5))
    left = [run for run in range(48) if run % 7]
    found = fitted(
        [rows[run] for run in left], [logs[run] for run in left], [blocks[run] for run in left]
    )
    whole = fitted(rows, logs).factors
    for estimate, before, effect in zip(found.factors, whole, effects, strict=True):
        assert estimate.low <= effect <= estimate.high
        assert half_width(before) < half_width(estimate) < 1.5 * half_width(before)


def random_rows(runs: int, factors: int = 1, seed: int = 6) -> list[tuple[bool, ...]]:
    draw = random.Random(seed)  # noqa: S311
    return [tuple(draw.random() < 0.5 for _ in range(factors)) for _ in range(runs)]


def kept_shares(designs: Sequence[Sequence[Sequence[bool]]], sd: float) -> tuple[float, float]:
    """Shares of the null factors and of those of +4 % that are kept; every second one is null."""
    draw = np.random.default_rng(8)
    kept: tuple[list[bool], list[bool]] = ([], [])
    for rows in designs:
        effects = [FOUR_PERCENT * (place % 2) for place in range(len(rows[0]))]
        found = fitted(rows, measured(rows, effects, sd, draw))
        names = {each.parameters for each in found.factors if each.is_kept}
        for place in range(len(effects)):
            kept[place % 2].append((str(place),) in names)
    null, real = (sum(each) / len(each) for each in kept)
    return null, real


def test_nulls_are_kept_in_one_of_twenty_cases_and_four_percent_in_nineteen() -> None:
    """48 runs of 4 %: an ordinary host."""
    null, real = kept_shares([analysis.design(8, 48, seed) for seed in range(400)], 0.04)
    assert null <= 0.065  # 5 %, and two standard errors
    assert real >= 0.94


def test_at_twice_the_usual_noise_48_runs_are_just_too_few_and_72_enough() -> None:
    """Runs of 5.7 % are pairs of 8 %: even an ideal design keeps 76 % of +4 % in 48 of them."""
    _, of_48 = kept_shares([analysis.design(8, 48, seed) for seed in range(400)], 0.057)
    null, of_72 = kept_shares([analysis.design(8, 72, seed) for seed in range(400)], 0.057)
    assert 0.71 <= of_48 < of_72
    assert of_72 >= 0.87
    assert null <= 0.065


def test_a_design_needs_far_fewer_runs_than_rows_by_chance() -> None:
    """Drawn by chance, columns tell of each other and of the blocks."""
    _, by_design = kept_shares([analysis.design(8, 48, seed) for seed in range(200)], 0.057)
    null, by_chance = kept_shares([random_rows(48, 8, seed) for seed in range(200)], 0.057)
    assert null <= 0.08
    assert by_chance < by_design - 0.1
