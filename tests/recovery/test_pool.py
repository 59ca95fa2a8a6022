"""Hosts of a pool die, are drained and join in the middle of their jobs: nothing is lost."""

import pytest

from tests.benchmarks.pool import disturbed
from tests.patience import TEST_ENDS_WITHIN_S

pytestmark = [pytest.mark.full, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]


def test_jobs_end_as_undisturbed_though_a_host_dies_one_is_drained_and_two_join() -> None:
    found = disturbed(window_s=0.05, count=10)
    assert found["differ"] == [], found
    assert (found["open"], found["late"]) == (0, []), found
    assert found["again"] > 0, "the host that died had a block"
    assert {"host-5", "host-6"} & {*found["hosts"]}, "those that joined took work"
