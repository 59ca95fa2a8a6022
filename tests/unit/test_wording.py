import math
from dataclasses import replace

import pytest

from tuner.nouns import wording
from tuner.nouns.model import (
    Effect,
    Figure,
    Limits,
    Metric,
    Origin,
    ServiceFigures,
    TrialState,
    Verdict,
)


@pytest.mark.parametrize(
    ("change", "text"),
    [(0.068, "+6.8 %"), (-0.0125, "-1.2 %"), (-0.0004, "+0.0 %"), (0.0, "+0.0 %")],
)
def test_a_change_has_its_sign_and_is_never_minus_zero(change: float, text: str) -> None:
    assert wording.percent(change) == text


@pytest.mark.parametrize(
    ("part", "digits", "text"),
    [(0.0684, 1, "6.8 %"), (0.0684, 0, "7 %"), (0.00684, 2, "0.68 %"), (-0.0001, 1, "0.0 %")],
)
def test_a_share_has_no_sign(part: float, digits: int, text: str) -> None:
    assert wording.share(part, digits) == text


def test_a_box_names_what_was_given() -> None:
    assert wording.box(Limits()) == "1 CPU, 512 MB, somaxconn 4096"
    more = Limits(cpus=0.5, nofile=1024, sysctls={"net.ipv4.tcp_syncookies": 0})
    assert wording.box(more) == (
        "0.5 CPU, 512 MB, somaxconn 4096, nofile 1024, net.ipv4.tcp_syncookies = 0"
    )


def test_a_probability_is_never_certain() -> None:
    shown = [wording.probability(part) for part in (0.0, 0.5, 0.9991)]
    assert shown == ["under 0.1 %", "50.0 %", "over 99.9 %"]


def test_an_end_that_is_unknown_or_too_large_is_unbounded() -> None:
    assert wording.interval(-0.2, math.expm1(50)) == "-20.0 % .. unbounded"
    assert wording.interval(None, None) == "unbounded"
    assert [wording.of_log(log) for log in (0.068, 800.0)] == ["+7.0 %", "unbounded"]


@pytest.mark.parametrize(
    ("metric", "low", "high", "text"),
    [
        (Metric.THROUGHPUT_RPS, 0.01, 0.03, "too small to keep: +2.0 % (+1.0 % .. +3.0 %)"),
        (Metric.MEMORY_MB, 0.01, 0.03, "harmful: +2.0 % (+1.0 % .. +3.0 %)"),
        (Metric.MEMORY_MB, -0.01, 0.05, "inside noise: +2.0 % (-1.0 % .. +5.0 %)"),
    ],
)
def test_a_line_that_is_not_kept_says_why(
    metric: Metric, low: float, high: float, text: str
) -> None:
    effect = Effect(metric=metric, estimate=0.02, ci_low=low, ci_high=high)
    assert wording.why_not_kept(effect) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(59.4, "59 s"), (95, "1 min 35 s"), (3725, "1 h 02 min")]
)
def test_a_duration_has_two_units_at_most(seconds: float, text: str) -> None:
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(9.6, "10 s"), (95, "95 s"), (1675, "28 min"), (8000, "2.2 h")]
)
def test_an_estimate_has_no_digits_that_nobody_can_know(seconds: float, text: str) -> None:
    assert wording.estimate(seconds) == text


def test_memory_is_told_in_the_unit_that_people_read() -> None:
    assert [wording.memory(mb) for mb in (512, 999.4, 4096)] == ["512 MB", "999 MB", "4.1 GB"]


def test_less_of_a_metric_of_which_less_is_better_is_an_improvement() -> None:
    assert wording.improvement(0.1, Metric.THROUGHPUT_RPS) == pytest.approx(0.105171, abs=1e-6)
    assert wording.improvement(0.1, Metric.LATENCY_P95_MS) == pytest.approx(0.095163, abs=1e-6)
    assert wording.improvement(-0.1, Metric.LATENCY_P95_MS) == pytest.approx(-0.105171, abs=1e-6)


@pytest.mark.parametrize("log", [math.inf, -math.inf, math.nan, 800.0, None])
def test_a_log_without_a_readable_value_has_no_share(log: float | None) -> None:
    assert wording.improvement(log, Metric.THROUGHPUT_RPS) is None


def test_every_state_origin_metric_and_verdict_has_a_name_for_people() -> None:
    assert set(wording.STATES) == set(TrialState)
    assert set(wording.ORIGINS) == set(Origin)
    assert set(wording.METRICS) == set(wording.COLUMNS) == set(Metric)
    assert set(wording.VERDICTS) == set(Verdict)


def test_what_a_service_wrote_is_compared_with_the_first_file() -> None:
    first = ServiceFigures(cores=0.1, memory_mb=90, written_mb=12.0)
    second = ServiceFigures(cores=0.1, memory_mb=90, written_mb=24.06)
    assert wording.service(first) == "90 MB, wrote up to 12.0 MB a block"
    assert wording.service(second, first) == "90 MB, wrote up to 24.1 MB a block (+12.1 MB)"
    assert wording.service(ServiceFigures(cores=0, memory_mb=9, written_mb=0.0), first) == "9 MB"
    far = ServiceFigures(cores=0, memory_mb=9, rtt_ms=0.523)
    assert wording.service(far) == "9 MB, round trip 0.52 ms"


def test_a_figure_is_in_the_unit_of_its_column() -> None:
    rate = Figure(metric=Metric.ERROR_RATE, value=0.013, ci_low=0.0, ci_high=0.034)
    assert (wording.measured(rate.value, rate.metric), wording.ends(rate)) == ("1.30", "0 .. 3.40")
    requests = Figure(metric=Metric.THROUGHPUT_RPS, value=12_345.6, ci_low=12_000.0, ci_high=None)
    assert wording.measured(requests.value, requests.metric) == "12 346"
    assert wording.ends(requests) == "12 000 .. ?"
    assert wording.ends(replace(requests, ci_low=None)) == "too few blocks"
