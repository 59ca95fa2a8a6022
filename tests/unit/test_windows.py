"""Histograms of many windows add up, and stay within a hundredth of the truth."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import histogram, window
from tuner.bench.load.probe.rows import bucket
from tuner.nouns.model import Histogram, RequestFigures, by_request

times_ms = st.floats(0.001, 60_000)


@given(time_ms=times_ms)
def test_a_bucket_is_less_than_a_hundredth_wide(time_ms: float) -> None:
    us = round(1000 * time_ms)
    assert Histogram.middle_ms(bucket(us)) == pytest.approx(us / 1000, rel=0.0079)


@given(us=st.integers(0, 10**9))
def test_longer_times_never_fall_into_lower_buckets(us: int) -> None:
    assert bucket(us) <= bucket(us + 1)


@given(first=st.lists(times_ms, max_size=20), second=st.lists(times_ms, max_size=20))
def test_merging_is_like_having_seen_all_in_one_window(
    first: list[float], second: list[float]
) -> None:
    merged = Histogram.merged([histogram(first), histogram(second)])
    assert merged.counts == histogram(first + second).counts
    assert merged.total == len(first) + len(second)


@given(times=st.lists(times_ms, min_size=1, max_size=200), share=st.floats(0, 1))
def test_a_percentile_is_that_of_the_times_themselves(times: list[float], share: float) -> None:
    found = histogram(times).percentile_ms(share)
    rank = max(1, -(-share * len(times) // 1))
    assert found == pytest.approx(sorted(times)[int(rank) - 1], rel=0.0085, abs=0.0006)


def test_an_empty_histogram_has_no_percentile() -> None:
    assert Histogram().percentile_ms(0.5) is None


def test_figures_of_a_request_add_up_over_windows_and_their_percentiles_are_of_all_times() -> None:
    def of(request: int, times_ms: list[float], **more: Any) -> RequestFigures:
        return RequestFigures(
            request=request,
            sent=len(times_ms) + 1,
            failed=1,
            max_ms=max(times_ms, default=None),
            histogram=histogram(times_ms),
            **more,
        )

    first = window(by_request=(of(0, [1.0] * 9, over_limit=2), of(1, [5.0])))
    second = window(by_request=(of(0, [100.0], over_limit=1), of(2, [])))
    zero, one, two = by_request([first, second, window()])

    assert (zero.request, zero.sent, zero.failed, zero.over_limit) == (0, 12, 2, 3)
    assert zero.p50_ms == pytest.approx(1, rel=0.01)
    assert zero.p95_ms == pytest.approx(100, rel=0.01)
    assert zero.max_ms == 100
    assert (one.request, one.over_limit, one.max_ms) == (1, None, 5)
    assert (two.request, two.sent, two.p50_ms, two.max_ms) == (2, 1, None, None)
