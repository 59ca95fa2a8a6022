"""Where candidates stand that ran in the same blocks."""

import math

import pytest

from tests.builders import block, window
from tuner.judge import analysis
from tuner.nouns.model import (
    Doubt,
    Failure,
    FailureCode,
    Measurement,
    Metric,
    Standing,
    TrialNumber,
)

THROUGHPUT = Metric.THROUGHPUT_RPS
WOBBLE = [1.00, 1.02, 0.98, 1.01, 0.99, 1.00]


def blocks_of(
    rates: dict[int, list[float]], *, drift: tuple[float, ...] = (1.0, 0.8, 1.1, 0.9, 1.0, 1.2)
) -> list[Measurement]:
    """Blocks of a drifting host with one window of each trial, at its rates."""
    numbers = tuple(rates)
    return [
        block(
            [window(arm, factor * rates[number][place]) for arm, number in enumerate(numbers)],
            arms=numbers,
            sequence=place + 1,
        )
        for place, factor in enumerate(drift)
    ]


def rates(level: float) -> list[float]:
    return [level * wobble for wobble in WOBBLE]


def standings(blocks: list[Measurement], **changes: int) -> list[Standing]:
    return list(analysis.standings(blocks, THROUGHPUT, changes.get("sign", 1)))


def numbers(found: list[Standing]) -> list[int]:
    return [standing.number for standing in found]


def test_the_best_comes_first_and_the_baseline_does_not_race() -> None:
    found = standings(blocks_of({0: [1000] * 6, 4: rates(1100), 7: rates(1200), 2: rates(900)}))
    assert numbers(found) == [7, 4, 2]
    assert [standing.gain for standing in found] == pytest.approx(
        [math.log(1.2), math.log(1.1), math.log(0.9)], abs=0.01
    )
    assert all(standing.low < standing.gain < standing.high for standing in found)
    assert {standing.blocks for standing in found} == {6}


def test_gain_and_interval_are_those_of_the_log_ratios() -> None:
    (found,) = standings(blocks_of({0: [1000] * 6, 3: rates(1100)}))
    expected = analysis.estimate([math.log(1.1 * wobble) for wobble in WOBBLE])
    assert (found.gain, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )


def test_where_less_is_better_the_smaller_one_gains() -> None:
    blocks = [
        block(
            [window(arm, latency_p95_ms=latency) for arm, latency in enumerate((20, 18, 25))],
            arms=(0, 1, 2),
        )
        for _ in range(4)
    ]
    found = analysis.standings(blocks, Metric.LATENCY_P95_MS, -1)
    assert [standing.number for standing in found] == [1, 2]
    assert found[0].gain == pytest.approx(math.log(20 / 18))


def test_the_place_of_an_arm_in_its_block_does_not_matter() -> None:
    blocks = blocks_of({0: [1000] * 6, 5: rates(1100)})
    turned = blocks_of({5: rates(1100), 0: [1000] * 6})
    assert standings(turned) == standings(blocks)


def test_another_baseline_may_be_named() -> None:
    blocks = blocks_of({0: [1000] * 6, 1: rates(1100)})
    (found,) = analysis.standings(blocks, THROUGHPUT, 1, baseline=TrialNumber(1))
    assert found.number == 0
    assert found.gain == pytest.approx(-math.log(1.1), abs=0.01)


def test_only_blocks_with_the_baseline_count() -> None:
    shared = blocks_of({0: [1000] * 6, 1: rates(1100)})
    without = blocks_of({1: rates(2000), 2: rates(3000)})
    found = standings(shared + without)
    assert numbers(found) == [1]
    assert found[0].blocks == 6


def test_a_block_of_void_windows_does_not_count() -> None:
    void = block([window(0, 1000), window(1, 5000, doubts=(Doubt.PORTS_EXHAUSTED,))], arms=(0, 1))
    (found,) = standings([*blocks_of({0: [1000] * 6, 1: rates(1100)}), void])
    assert found.blocks == 6
    assert standings([void]) == []


def test_a_candidate_that_broke_is_out_and_the_others_stay() -> None:
    good = blocks_of({0: [1000] * 6, 1: rates(1100), 2: rates(1300)})
    failure = Failure(code=FailureCode.OUT_OF_MEMORY, message="killed", arm=2)
    found = standings([*good, block(arms=(0, 1, 2), failure=failure)])
    assert numbers(found) == [1]
    assert found[0].blocks == 6


def test_one_that_is_faster_in_most_starts_only_is_ranked_by_its_bad_ones() -> None:
    shaky = [1300.0, 1300, 800, 1300, 1300, 1300]
    found = standings(blocks_of({0: [1000] * 6, 1: rates(1100), 2: shaky}, drift=(1.0,) * 6))
    assert [(standing.number, standing.is_unstable) for standing in found] == [
        (1, False),
        (2, True),
    ]
    assert found[0].gain < found[1].gain


def test_an_unstable_one_that_leads_by_more_than_its_scatter_still_leads() -> None:
    shaky = [2600.0, 2600, 1700, 2600, 1700, 2600]
    found = standings(blocks_of({0: [1000] * 6, 1: rates(1100), 2: shaky}, drift=(1.0,) * 6))
    assert numbers(found) == [2, 1]
    assert found[0].is_unstable


def test_equals_stand_in_the_order_of_their_numbers() -> None:
    found = standings(blocks_of({0: [1000] * 6, 8: rates(1100), 3: rates(1100)}))
    assert numbers(found) == [3, 8]


def test_one_block_has_a_place_and_an_interval_that_can_be_stored() -> None:
    (found,) = standings(blocks_of({0: [1000], 1: [1100]}, drift=(1.0,)))
    assert found.gain == pytest.approx(math.log(1.1))
    assert found.low < -10 < 10 < found.high
    assert math.isfinite(found.high - found.low)


def test_no_blocks_have_no_standings() -> None:
    assert standings([]) == []


def test_the_better_half_goes_on_until_one_is_left() -> None:
    assert [analysis.survivors(count) for count in (1, 2, 3, 4, 5, 6, 7, 8)] == [
        1,
        1,
        2,
        2,
        3,
        3,
        4,
        4,
    ]
