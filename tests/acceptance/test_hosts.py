"""Two real hosts: workers with a Docker Engine each, on one machine."""

import os
import subprocess
import sys
from collections import defaultdict

import pytest

from tests.own_engine import own_engine
from tests.patience import TEST_ENDS_WITHIN_S
from tests.real_bench import BASE_IMAGE, LOAD_IMAGE
from tests.recovery.test_kills import wait_for_phase
from tests.service import another_host, opened_store, running
from tuner.nouns.model import JobId, MeasurementState, Phase

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(TEST_ENDS_WITHIN_S)]

REQUEST = {
    "app": "shared",
    "target": {"target_app": "io-bound"},
    "workload": {"kind": "closed_loop", "concurrency": 8},
    # Both hosts share the CPUs of this machine: they are alike only where noise hardly counts.
    "min_effect": 0.3,
    "budget": {
        "preset": "demo",
        "trials": 14,  # an idle host helps only while 12 are left
        "calibrate_blocks": 3,
        "confirm_blocks": 8,
        "cycles": 1,
        "window_s": 1.0,
        "warmup_s": 0.0,
    },
}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it starts a Docker Engine of its own")
def test_an_idle_host_helps_a_search_and_takes_the_job_when_the_first_one_is_drained() -> None:
    with (
        own_engine([BASE_IMAGE, LOAD_IMAGE]) as engine,
        running(TUNER_WORKER_NAME="a") as first,  # it measures: both hosts must serve as much
        another_host(first, "b", DOCKER_HOST=engine.address) as second,
        opened_store(first) as store,
    ):
        job_id = JobId(first.submit(**REQUEST)["id"])
        assert wait_for_phase(first, job_id, "confirm"), first.job(job_id)
        draining = [sys.executable, "-m", "tuner.cli", "hosts", "drain", "a", "--wait"]
        subprocess.run(draining, env=dict(first.environ), check=True, capture_output=True)
        ended = first.finish(job_id)
        assert ended["state"] == "succeeded", (ended, first.log(), second.log())
        hosts: defaultdict[str, set[str | None]] = defaultdict(set)
        for each in store.measurements(job_id):
            if each.state is MeasurementState.COMPLETE:
                hosts[each.phase].add(each.host)
        report = first.get(f"/v1/jobs/{job_id}/report?format=md").text
        assert hosts[Phase.CALIBRATE] == hosts[Phase.SEARCH] == {"a", "b"}, report
        assert "b" in hosts[Phase.CONFIRM]
        assert "`a, b` of pool default" in report
        assert "did not help" not in report
        first.wait_for(lambda: not first.leftovers(), 60, "nothing is left over on a")
        second.wait_for(lambda: not second.leftovers(), 60, "nothing is left over on b")
