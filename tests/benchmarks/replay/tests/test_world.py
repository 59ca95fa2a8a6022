"""One block on a replayed host: arms, cycles, failures and seconds."""

import pytest

from tests.benchmarks.replay.landscape import Truth
from tests.benchmarks.replay.noise import STANDARD
from tests.benchmarks.replay.tests.recorded import landscape, params, world
from tuner.nouns.model import (
    AS_BUDGETED,
    BlockOptions,
    Failure,
    FailureCode,
    Futility,
    MeasurementResult,
    Metric,
    Window,
)

RECORD = landscape(fails=lambda asked: int(asked["processes"]) >= 16)
TRUTH = Truth.of(RECORD)


def windows_of(block_options: BlockOptions, arms: int = 2) -> tuple[Window, ...]:
    outcome = world(TRUTH, RECORD).block([params()] * arms, STANDARD, block_options).outcome
    assert isinstance(outcome, MeasurementResult)
    return outcome.windows


@pytest.mark.parametrize("arms", [1, 2, 7])
def test_every_cycle_has_one_window_of_every_arm(arms: int) -> None:
    windows = windows_of(AS_BUDGETED, arms)
    assert [window.index for window in windows] == list(range(4 * arms))
    for cycle in range(4):
        own = windows[cycle * arms : (cycle + 1) * arms]
        assert sorted(window.arm for window in own) == list(range(arms))


def test_sides_take_turns_in_an_order_that_changes() -> None:
    firsts = [window.arm for window in windows_of(BlockOptions(cycles=40))[::2]]
    assert 10 < sum(firsts) < 30


def test_a_course_may_ask_for_another_number_of_cycles() -> None:
    assert len(windows_of(BlockOptions(cycles=2))) == 4


def test_a_block_that_cannot_win_is_cut_short() -> None:
    hopeless = Futility(metric=Metric.THROUGHPUT_RPS, best=1.0, sd=0.03)
    reply = world(TRUTH, RECORD).block([params()] * 2, STANDARD, BlockOptions(futility=hopeless))
    assert isinstance(reply.outcome, MeasurementResult)
    assert reply.outcome.is_cut_short
    assert len(reply.outcome.windows) == 4
    assert reply.seconds < world(TRUTH, RECORD).block([params()] * 2, STANDARD, AS_BUDGETED).seconds


def test_a_configuration_that_fails_ends_the_block_and_costs_its_start_only() -> None:
    reply = world(TRUTH, RECORD).block([params(), params(16)], STANDARD, AS_BUDGETED)
    assert isinstance(reply.outcome, Failure)
    assert (reply.outcome.arm, reply.outcome.code) == (1, FailureCode.OUT_OF_MEMORY)
    assert reply.seconds == pytest.approx(0.9)


def test_seconds_are_those_of_starts_warm_ups_and_windows() -> None:
    host = world(TRUTH, RECORD)
    reply = host.block([params(), params(4)], STANDARD, AS_BUDGETED)
    assert reply.seconds == pytest.approx(2 * 0.45 + 2 * 3.0 + 8 * (2.5 + 0.2))
    assert host.now_s == pytest.approx(reply.seconds)


def test_the_same_seed_gives_the_same_windows_and_another_one_others() -> None:
    first, again, other = (
        world(TRUTH, RECORD, seed=seed).block([params()] * 2, STANDARD, AS_BUDGETED).outcome
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
