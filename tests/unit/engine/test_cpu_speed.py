"""The speed of a CPU, sampled on the CPU itself."""

import os
import threading
import time

import pytest

from tuner.bench.engine.counters import Speeds, sampled


def test_a_cpu_is_sampled_as_long_as_the_context_runs() -> None:
    cpu, began = min(os.sched_getaffinity(0)), time.time()
    with sampled(cpu) as speeds:
        time.sleep(0.5)
    speed = speeds.mean(began, time.time())
    assert speed is not None
    assert 1 < speed < 500  # steps per microsecond, on any machine of today
    assert all(began <= at <= time.time() for at, _ in speeds.samples)
    assert not [thread for thread in threading.enumerate() if thread.name == "cpu-speed"]


def test_the_rest_of_the_process_keeps_its_cpus() -> None:
    before = os.sched_getaffinity(0)
    with sampled(min(before)):
        time.sleep(0.1)
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("cpu", [None, 4_000])
def test_a_cpu_that_is_not_ours_has_no_speed(cpu: int | None) -> None:
    began = time.time()
    with sampled(cpu) as speeds:
        time.sleep(0.1)
    assert speeds.mean(began, time.time()) is None


def test_the_mean_is_of_the_samples_between_two_times() -> None:
    speeds = Speeds([(float(at), 10.0 if at < 10 else 20.0) for at in range(20)])
    assert speeds.mean(0, 9) == 10
    assert speeds.mean(10, 19) == 20
    assert speeds.mean(0, 19) == 15
    assert speeds.mean(0, 3) is None  # four samples are no mean of a window


def test_an_error_in_the_context_ends_the_sampling() -> None:
    with pytest.raises(RuntimeError, match="the load failed"), sampled(0):
        raise RuntimeError("the load failed")
    assert not [thread for thread in threading.enumerate() if thread.name == "cpu-speed"]
