"""What the benchmark of polls makes of its figures, without a poll."""

from argparse import Namespace

import pytest

from tests.benchmarks import polling
from tests.benchmarks.polling import Poll, percentile

OPTIONS = Namespace(rate=200.0, trials=10_000, job_rate=2.0, windows=10_000)
LOOKS = [Poll(late_ms=0.1, latency_ms=40.0, status=200)]


def test_a_percentile_is_a_value_that_was_seen() -> None:
    values = [float(value) for value in range(1, 101)]
    assert [percentile(values, share) for share in (0.5, 0.95, 0.99, 1.0)] == [50, 95, 99, 100]
    assert percentile([7.0], 0.99) == 7.0


@pytest.mark.parametrize(
    ("slow", "status", "code"), [(1, 304, 0), (2, 304, 1), (0, 200, 1), (0, 503, 1)]
)
def test_the_promise_is_kept_where_ninety_nine_in_a_hundred_are_fast_and_all_are_304(
    slow: int, status: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    polls = [Poll(late_ms=0.1, latency_ms=3.0, status=304)] * (100 - slow)
    polls += [Poll(late_ms=0.1, latency_ms=30.0, status=304)] * slow
    polls[0] = Poll(late_ms=0.1, latency_ms=3.0, status=status)
    assert polling.report(OPTIONS, polls, LOOKS, 0.3) == code
    assert ("NOT KEPT" in capsys.readouterr().out) == bool(code)
