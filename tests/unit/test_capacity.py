"""The capacity within a limit: the estimator, and the words and curves of its probes."""

import math
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from tests.builders import window
from tuner.cli.capacity import instances, limit_of
from tuner.judge import capacity
from tuner.judge.capacity import Probe
from tuner.judge.report import capacities
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import CapacityLimit, Doubt, Window

LIMIT = CapacityLimit(latency_p95_ms=200)
SATURATED_RPS = 250.0
TRUE_RPS = 240.0


def probed(rate_rps: float, seconds: float = 30.0, slope: float = 15, **changes: Any) -> Window:
    """A window whose p95 is 200 ms at `TRUE_RPS`, and rises as in a queue."""
    p95_ms = 200 * math.exp(slope * math.log(rate_rps / TRUE_RPS))
    return window(
        sent=round(rate_rps * seconds),
        requests=round(0.8 * rate_rps * seconds),
        series=(0,) * round(4 * seconds),
        **{"latency_p95_ms": p95_ms, **changes},
    )


def search(**changes: Any) -> list[Window]:
    windows: list[Window] = []
    wobble = cycle((0.004, -0.006, 0.001, 0.005, -0.004))
    while ask := capacity.next_probe(capacity.probes_of(windows, LIMIT), LIMIT, SATURATED_RPS):
        rate = ask.rate_rps * (1 + next(wobble))
        windows.append(probed(rate, round(4 * ask.seconds) / 4, **changes))
    return windows


def test_probes_rise_from_half_of_saturation_and_then_lie_around_the_capacity() -> None:
    probes = capacity.probes_of(search(), LIMIT)
    short, long = capacity.parted(probes)
    assert short[0].rate_rps == pytest.approx(SATURATED_RPS / 2, rel=0.02)
    assert [probe.is_late for probe in short] == [False] * (len(short) - 1) + [True]
    assert len(long) == capacity.PROBES
    found = capacity.estimate(probes)
    assert found is not None
    assert found.low < TRUE_RPS < found.high
    assert found.rps == pytest.approx(TRUE_RPS, rel=0.01)


def test_the_report_says_the_capacity_and_the_curve() -> None:
    found = capacities.report(search(), LIMIT)
    assert found.rps == pytest.approx(TRUE_RPS, rel=0.01)
    assert found.sentence.startswith("carries 2")
    assert found.sentence.endswith(") with p95 within 200 ms and at most 0.1 % of errors")
    rates = [point.rate_rps for point in found.points]
    assert rates == sorted(rates)


def test_the_ratio_to_the_first_file_has_an_interval() -> None:
    found = capacities.report(search(), LIMIT, search())
    assert found.ratio == pytest.approx(1.0)
    assert found.ratio_low is not None
    assert found.ratio_low < 1 < (found.ratio_high or 0)


@pytest.mark.parametrize(
    ("p95_ms", "words"),
    [(900.0, "even "), (3.0, "more were not tried")],
    ids=["always late", "never late"],
)
def test_a_limit_that_no_rate_crosses_is_said(p95_ms: float, words: str) -> None:
    found = capacities.report(search(latency_p95_ms=p95_ms), LIMIT)
    assert found.rps is None
    assert words in found.sentence


def test_no_capacity_is_said_where_the_latency_hardly_depends_on_the_rate() -> None:
    found = capacities.report(search(slope=0.4), LIMIT)
    assert found.rps is None
    assert "above 70.0 % of 200 ms, and it rises slowly" in found.sentence


def test_a_file_whose_probes_cannot_be_used_has_no_capacity() -> None:
    void = [replace(each, doubts=(Doubt.BENCH_FULL,)) for each in search()]
    assert all(each.is_void for each in void)
    found = capacities.report(void, LIMIT)
    assert found.rps is None
    assert found.sentence.endswith("too few probes can be used")


def test_too_many_errors_miss_the_limit_whatever_the_latency() -> None:
    probe = capacity.probe_of(probed(100, latency_p95_ms=1.0, errors=30), LIMIT)
    assert probe is not None
    assert probe.is_late
    few = capacity.probe_of(probed(100, latency_p95_ms=1.0, errors=3), LIMIT)
    assert few is not None
    assert not few.is_late


def test_a_generator_near_its_limit_is_a_note() -> None:
    notes = capacities.report(search(doubts=(Doubt.CLIENT_SATURATED,)), LIMIT).notes
    assert any("load generator" in note for note in notes)


def test_an_estimate_waits_for_three_long_probes() -> None:
    late, early = Probe(250, 1.0, 0.2), Probe(200, -1.0, 0.2)
    assert capacity.estimate([early, late, Probe(240, 0.0), Probe(241, 0.1)]) is None


@pytest.mark.parametrize(
    ("limit", "errors", "found"),
    [
        ("p95=200ms", "0.1%", {"latency_p95_ms": 200.0, "error_rate": 0.001}),
        ("p99 = 1.5s", "0.01", {"latency_p99_ms": 1500.0, "error_rate": 0.01}),
    ],
)
def test_the_options_of_the_limit(limit: str, errors: str, found: dict[str, float]) -> None:
    assert limit_of(limit, errors) == pytest.approx(found)


@pytest.mark.parametrize(("limit", "errors"), [("200ms", "0.1%"), ("p95=200ms", "few")])
def test_a_limit_that_cannot_be_read_is_refused(limit: str, errors: str) -> None:
    with pytest.raises(InvalidInput, match="is not like"):
        limit_of(limit, errors)


def test_one_box_is_spare() -> None:
    assert instances(3000, 400) == 9
