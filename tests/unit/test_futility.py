"""When a block is stopped because its candidate cannot win any more."""

import math
import random

import pytest

from tests.builders import shaken, window
from tuner.bench.measurement.bench import is_futile
from tuner.nouns.model import Doubt, Futility, Metric, Window

SD = 0.03


def futility(best: float = 0.0, metric: Metric = Metric.THROUGHPUT_RPS) -> Futility:
    return Futility(metric=metric, best=best, sd=SD)


def cycle(gain: float) -> list[Window]:
    """Candidate first: the order within a cycle is shuffled."""
    return [window(1, 100.0 * math.exp(gain)), window(0, 100.0)]


def allowance(cycles: int, planned: int) -> float:
    return 2 * SD * math.sqrt(1 / cycles + 1 / planned)


@pytest.mark.parametrize(("beyond", "stops"), [(0.001, True), (-0.001, False)])
@pytest.mark.parametrize("cycles", [2, 3])
def test_a_candidate_is_stopped_where_it_is_behind_by_two_deviations(
    cycles: int, beyond: float, stops: bool
) -> None:
    gain = 0.2 - allowance(cycles, planned=4) - beyond
    assert is_futile([cycle(gain)] * cycles, futility(best=0.2), planned=4) is stops


def test_one_cycle_never_stops_a_block() -> None:
    assert not is_futile([], futility(best=1.0), planned=4)
    assert not is_futile([cycle(-3.0)], futility(best=1.0), planned=4)


def test_a_candidate_that_is_ahead_goes_on() -> None:
    assert not is_futile([cycle(0.5)] * 3, futility(best=0.1), planned=4)


def test_less_of_a_minimised_metric_is_ahead() -> None:
    slower = [window(0, latency_p95_ms=20.0), window(1, latency_p95_ms=40.0)]
    faster = [window(0, latency_p95_ms=20.0), window(1, latency_p95_ms=10.0)]
    p95 = futility(metric=Metric.LATENCY_P95_MS)
    assert is_futile([slower] * 2, p95, planned=4)
    assert not is_futile([faster] * 2, p95, planned=4)


def test_cycles_that_say_nothing_do_not_count() -> None:
    void = [window(0), window(1, 1.0, doubts=(Doubt.PORTS_EXHAUSTED,))]
    silent = [window(0), window(1, 0.0, requests=0)]
    for useless in (void, silent, []):
        assert not is_futile([cycle(-1.0), useless, useless], futility(), planned=4)
        assert is_futile([cycle(-1.0), useless, cycle(-1.0)], futility(), planned=4)


def test_rungs_of_a_ladder_are_compared_with_the_same_rung() -> None:
    high, low = 1000.0, 10.0
    level = [window(0, low), window(1, low), window(0, high), window(1, high)]
    assert not is_futile([level] * 3, futility(), planned=4)
    without_top = [*level[:3], window(1, high, doubts=(Doubt.COUNTER_MISMATCH,))]
    assert not is_futile([without_top] * 3, futility(), planned=4), "the rungs do not match"


def test_a_candidate_that_met_a_slow_cpu_goes_on() -> None:
    draw = random.Random(1)  # noqa: S311
    for behind in (0.0, 1.0):
        cycles = [shaken(cycle(-behind), draw) for _ in range(3)]
        assert is_futile(cycles, futility(), planned=4) == (behind > 0)


def test_the_best_candidate_itself_is_hardly_ever_stopped() -> None:
    noise = random.Random(1)  # noqa: S311
    stopped = 0
    for _ in range(1000):
        measured = [[noise.gauss(0.2, SD) for _ in range(4)] for _ in range(2)]
        best = sum(measured[0]) / 4
        cycles = [cycle(gain) for gain in measured[1]]
        stopped += any(is_futile(cycles[:j], futility(best), planned=4) for j in (2, 3))
    assert stopped <= 50
