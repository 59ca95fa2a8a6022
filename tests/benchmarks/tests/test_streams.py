"""What the benchmark of streams makes of its figures, without a stream."""

from argparse import Namespace
from collections.abc import Sequence

import pytest

from tests.benchmarks import streams
from tests.benchmarks.polling import Poll
from tests.benchmarks.streams import Change, Seen

OPTIONS = Namespace(rate=100.0, streams=2, reconnects=2)
CHANGES = [Change(3, 10.0), Change(4, 11.0)]
GOOD = [(1, 3, 10.2), (2, 4, 11.3)]


def polls(latency_ms: float, status: int = 200) -> list[Poll]:
    return [Poll(late_ms=0.1, latency_ms=latency_ms, status=status)] * 100


def seen(*arrivals: Sequence[tuple[int, int, float]]) -> Seen:
    return Seen(CHANGES, arrivals, took_s=1.5)


def test_a_change_is_late_by_what_passed_since_its_transaction_began() -> None:
    assert seen(GOOD, GOOD).late_ms == pytest.approx([200, 200, 300, 300])


@pytest.mark.parametrize(
    "stream",
    [GOOD[:1], GOOD[1:], GOOD[::-1], [*GOOD, GOOD[1]], []],
    ids=["missed the end", "missed the begin", "out of order", "twice", "nothing"],
)
def test_a_stream_is_complete_with_every_change_once_and_in_order(
    stream: Sequence[tuple[int, int, float]],
) -> None:
    assert seen(GOOD, GOOD).incomplete == 0
    assert seen(GOOD, stream).incomplete == 1


@pytest.mark.parametrize(
    ("beside", "live", "back", "broken"),
    [
        (polls(9.9), seen(GOOD, GOOD), seen(GOOD, GOOD), ""),
        (polls(10.1), seen(GOOD, GOOD), seen(GOOD, GOOD), "polls within 2 x"),
        (polls(5.0, 503), seen(GOOD, GOOD), seen(GOOD, GOOD), "polls within 2 x"),
        (polls(5.0), seen(GOOD, GOOD[:1]), seen(GOOD, GOOD), "a change reaches all"),
        (polls(5.0), seen(GOOD, [(1, 3, 10.2), (2, 4, 12.1)]), seen(GOOD, GOOD), "a change reache"),
        (polls(5.0), seen([], []), seen(GOOD, GOOD), "a change reaches all"),
        (polls(5.0), seen(GOOD, GOOD), seen(GOOD, GOOD[1:]), "streams that came back lost"),
        (polls(5.0), seen(GOOD, GOOD), seen(GOOD), "streams that came back lost"),
    ],
)
def test_each_promise_is_judged(
    beside: list[Poll], live: Seen, back: Seen, broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert streams.report(OPTIONS, polls(5.0), beside, live, back) == bool(broken)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.endswith("NOT KEPT")]
    assert len(lines) == bool(broken)
    assert all(line.startswith(broken) for line in lines)
