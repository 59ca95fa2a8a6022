"""From single requests to the figures of a window."""

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tuner.bench.load.probe import rows
from tuner.bench.load.probe.rows import Row
from tuner.nouns.model import Histogram, windows


def summary(
    found: Iterable[Row], connections: int | None = None, unanswered: int = 0
) -> dict[str, Any]:
    """Of a run of 2.5 s."""
    return rows.summary(
        found, head_s=0.5, length_s=2.5, connections=connections, unanswered=unanswered
    )


def one_after_the_other(latency_s: float, until_s: float = 2.5) -> Iterator[Row]:
    """What one connection does that is always answered after the same time."""
    sent_s = 0.0
    while sent_s < until_s:
        yield sent_s, sent_s, sent_s + latency_s, True
        sent_s += latency_s


def test_throughput_is_of_the_answers_within_the_stretch() -> None:
    ends = [0.4, 0.5, 1.0, 2.5, 2.6]
    found = summary(
        [(0.3, 0.3, end, True) for end in ends],
    )
    assert found["requests"] == 3
    assert found["duration_s"] == 2.0
    assert found["answered"] == 5


def test_latencies_are_of_what_fell_due_in_the_stretch_whenever_it_was_answered() -> None:
    found = summary(
        [(0.4, 0.4, 1.4, True), (0.6, 1.0, 1.1, True), (2.4, 2.4, 9.4, True)],
    )
    assert found["latency_p50_ms"] == pytest.approx(500)
    assert found["latency_p99_ms"] == pytest.approx(7000)
    assert sum(found["histogram"]["counts"].values()) == 2


def test_only_expected_answers_count() -> None:
    found = summary(
        [(1.0, 1.0, 1.1, True), (1.0, 1.0, 1.9, False)],
    )
    assert found["requests"] == 1
    assert found["latency_p99_ms"] == pytest.approx(100)
    assert sum(found["series"]) == 1


def test_without_an_answer_there_is_no_latency() -> None:
    found = summary(
        [],
    )
    assert found["requests"] == 0
    assert found["latency_p95_ms"] is None
    assert found["histogram"] == {"counts": {}}
    assert found["series"] == [0] * 10


def test_the_series_covers_the_head_and_drops_what_is_late() -> None:
    ends = [0.0, 0.24, 0.25, 1.2, 1.3]
    found = rows.summary([(0, 0, end, True) for end in ends], head_s=0.25, length_s=1.25)
    assert found["series"] == [2, 1, 0, 0, 1]


def test_percentiles_are_single_values_not_mixtures() -> None:
    values = [float(value) for value in range(1, 101)]
    assert [rows.percentile(values, share) for share in (0.5, 0.95, 0.99, 1)] == [50, 95, 99, 100]
    assert rows.percentile([7.0], 0.5) == 7.0


def test_probe_and_model_have_the_same_buckets() -> None:
    for us in [*range(1200), *(2**power + step for power in range(7, 36) for step in (-1, 0, 1))]:
        middle_ms = Histogram.middle_ms(rows.bucket(us))
        assert middle_ms == pytest.approx(us / 1000, rel=0.004)
        assert rows.histogram([us / 1000] * 3) == {rows.bucket(us): 3}
    assert rows.SERIES_STEP_S == windows.SERIES_STEP_S


def test_connections_that_wait_while_others_are_served_are_starved() -> None:
    lucky = [row for _ in range(2) for row in one_after_the_other(0.001)]
    waiting = [(0.0, 0.0, 4.0, True)] * 8
    assert summary([*lucky, *waiting], connections=10)["stalled"] == 8


def test_a_request_that_ran_into_its_time_out_starves_its_connection_too() -> None:
    lucky = [row for _ in range(2) for row in one_after_the_other(0.001)]
    found = summary(lucky, connections=10, unanswered=8)
    assert found["stalled"] == 8


def test_time_outs_of_connections_that_were_served_before_do_not_count() -> None:
    served = [row for _ in range(9) for row in one_after_the_other(0.001)]
    served += one_after_the_other(0.001, until_s=2.0)  # its next request is never answered
    assert summary(served, connections=10, unanswered=1)["stalled"] == 0


def test_where_everyone_waits_longer_than_the_stretch_nobody_is_starved() -> None:
    in_line = [(0.0, 0.0, 0.25 * place, True) for place in range(1, 41)]
    assert summary(in_line, connections=40)["stalled"] == 0


def test_slots_handed_out_by_lot_starve_nobody() -> None:
    draw = random.Random(3)  # noqa: S311
    found: list[Row] = []
    for _ in range(200):  # connections; each answer takes 0.5 s on average: 4 in the stretch
        sent_s = 0.0
        while sent_s < 2.5:
            end_s = sent_s + draw.expovariate(2.0)
            found.append((sent_s, sent_s, end_s, True))
            sent_s = end_s
    assert any(sent < 0.5 and end >= 2.5 for _, sent, end, _ in found)
    assert summary(found, connections=200)["stalled"] == 0


def test_an_open_loop_is_not_asked_for_starved_connections() -> None:
    found = [*one_after_the_other(0.001), (0.0, 0.0, 4.0, True)]
    assert (
        summary(
            found,
        )["stalled"]
        == 0
    )


def test_one_connection_is_never_at_two_requests_at_once() -> None:
    assert rows.most_at_once(one_after_the_other(0.5)) == 1
    assert rows.most_at_once([(0, 0, 1, True), (0, 0.5, 1, True), (0, 1, 2, True)]) == 2
    assert rows.most_at_once([]) == 0
