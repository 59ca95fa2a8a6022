"""The capacity of an app of known service time, on real containers."""

import pytest

from tests import bench_arms
from tests.patience import TEST_ENDS_WITHIN_S
from tuner.judge.report import capacities
from tuner.nouns.model import Budget, Capacity, CapacityLimit

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

LIMIT = CapacityLimit(latency_p95_ms=50)
WAIT_MS, PROCESSES = 10, 4
BUDGET = Budget(trials=1, confirm_blocks=4, cycles=1, window_s=1.0, warmup_s=2.0)


def test_an_app_that_waits_carries_what_its_processes_can_answer() -> None:
    workload = Capacity(kind="capacity", limit=LIMIT, concurrency=2 * PROCESSES)
    arm = bench_arms.work(wait_ms=WAIT_MS, processes=PROCESSES)
    with bench_arms.opened() as bench:
        result = bench.run_block([arm], workload, BUDGET, seed=1)
    found = capacities.report(result.windows, LIMIT)
    most = 1000 * PROCESSES / WAIT_MS
    assert found.rps is not None, found.sentence
    assert 0.4 * most < found.rps < most  # other tests may have the CPUs
    assert not found.points[0].is_late
    assert found.points[-1].is_late
    assert not any(window.is_void for window in result.windows)
