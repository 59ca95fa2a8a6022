"""uWSGI's processes in /proc, here played by this process and its children."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tuner.bench.load.probe import counters
from tuner.bench.load.probe.counters import Snapshot

IDLE = "import time; time.sleep(60)"
BURN = "import time\nwhile time.process_time() < 0.4: time.sleep(0.001), sum(range(100_000))\n"


@pytest.fixture
def worker() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", BURN + IDLE]) as child:
        yield child.pid
        child.kill()


def stats(*pids: int, master: int | None = None) -> str:
    workers = [{"id": number, "pid": pid} for number, pid in enumerate(pids, 1)]
    return json.dumps({"pid": master or os.getpid(), "workers": workers})


def test_cpu_time_of_a_worker_and_switches_are_seen(worker: int) -> None:
    before = counters.snapshot(stats(worker), router=False)
    deadline = time.monotonic() + 20
    while (
        found := counters.read_process(worker)
    ) is not None and found.cpu_s < 0.25:  # in whole ticks
        assert time.monotonic() < deadline
        time.sleep(0.02)
    used = counters.difference(before, counters.snapshot(stats(worker), router=False))
    assert used is not None
    assert used["busiest_cpu_s"] >= 0.2
    assert used["switches"] > 0
    assert used["router_cpu_s"] is None


FAMILY = f"""
import os, subprocess, sys
children = [subprocess.Popen([sys.executable, "-c", {IDLE!r}]) for _ in range(2)]
print(os.getpid(), *(child.pid for child in children), flush=True)
sys.stdin.read()
for child in children:
    child.kill()
    child.wait()
"""


def test_other_children_of_the_master_belong_to_the_router() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as family:
        assert family.stdout is not None
        master, worker, router = map(int, family.stdout.readline().split())
        found = counters.snapshot(stats(worker, master=master), router=True)
        without = counters.snapshot(stats(worker, master=master), router=False)
        family.communicate()
    assert found is not None
    assert without is not None
    assert (list(found.workers), list(found.routers)) == ([worker], [router])
    assert without.routers == {}


def test_numbers_of_another_namespace_are_nobody() -> None:
    assert counters.snapshot(stats(1, os.getppid()), router=True) is None
    assert counters.snapshot(stats(2**22 + 1, master=2**22 + 2), router=True) is None


def test_a_process_that_was_replaced_is_left_out() -> None:
    before = Snapshot({5: 1.0, 6: 2.0}, {5: 10, 6: 10}, 0.0, {8: 1.0})
    after = Snapshot({5: 1.5, 7: 9.0}, {5: 14, 7: 99}, 0.25, {8: 1.75, 9: 5.0})
    assert counters.difference(before, after) == {
        "busiest_cpu_s": 0.5,
        "master_cpu_s": 0.25,
        "router_cpu_s": 0.75,
        "switches": 4,
    }
    assert counters.difference(before, Snapshot({7: 1.0}, {7: 1}, 0.0, {})) is None
    assert counters.difference(None, after) is None


def test_a_name_may_hold_blanks_and_parentheses() -> None:
    fields = " ".join(str(number) for number in range(3, 20))
    found = counters.parse(f"42 (my (odd) app) S 7 {fields}")
    assert found.name == "my (odd) app"
    assert found.parent == 7
    assert found.cpu_s == pytest.approx((12 + 13) / counters.TICKS_PER_S)


def test_a_process_that_is_gone_has_no_switches() -> None:
    assert counters.switches(2**22 + 1) == 0
