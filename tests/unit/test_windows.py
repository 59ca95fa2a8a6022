"""Histograms of many windows add up, and stay within a hundredth of the truth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import histogram
from tuner.load.probe.rows import bucket
from tuner.model import Histogram

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
