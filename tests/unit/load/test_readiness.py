"""What is said of a target that does not become ready."""

from typing import Any

import pytest

from tests.unit.load.findings import CENSUS, TARGET, Scripted
from tuner.bench.load.probing import wait_ready
from tuner.nouns.errors import Infrastructure, TargetFailed
from tuner.nouns.model import FailureCode
from tuner.uwsgi.topology import Front, Topology


def wait(running: Scripted) -> None:
    wait_ready(running, TARGET, stats="127.0.0.1:1717", timeout_s=20)


@pytest.mark.parametrize(
    ("found", "code", "words"),
    [
        (
            {"outcome": "errors_only", "stats": CENSUS, "answer": 500},
            "errors_only",
            "with 500 only",
        ),
        ({"outcome": "timeout", "stats": None, "answer": None}, "not_ready", "never answered"),
        (
            {"outcome": "timeout", "stats": {**CENSUS, "accepting": 1}, "answer": None},
            "not_ready",
            "1 of 2 processes",
        ),
        (
            {
                "outcome": "timeout",
                "stats": {"processes": 0, "accepting": 0, "cheap": 0, "respawns": 0},
                "answer": None,
            },
            "not_ready",
            "without any process",
        ),
        (
            {"outcome": "crash_loop", "stats": {**CENSUS, "respawns": 9}, "answer": None},
            "not_ready",
            "9 were replaced",
        ),
        (
            {"outcome": "timeout", "stats": CENSUS, "answer": "nothing listens on port 8000"},
            "not_ready",
            "nothing listens on port 8000",
        ),
    ],
)
def test_what_was_seen_is_said(found: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(TargetFailed, match=words) as failed:
        wait(Scripted(found))
    assert failed.value.code == code
    assert failed.value.log_tail == "the log"


def test_workers_killed_for_memory_are_recognised() -> None:
    running = Scripted(
        {"outcome": "crash_loop", "stats": {**CENSUS, "respawns": 9}, "answer": None},
        log="DAMN ! worker 1 (pid: 8) died, killed by signal 9 :( trying respawn ...",
    )
    with pytest.raises(TargetFailed) as failed:
        wait(running)
    assert failed.value.code == FailureCode.OUT_OF_MEMORY


def test_a_ready_target_passes_and_is_asked_through_its_front() -> None:
    running = Scripted({"outcome": "ready", "stats": CENSUS, "answer": 200})
    running.front = Front(topology=Topology.NGINX, port=61_716, socket=":8000")
    wait(running)
    verb, task = running.asked[0]
    assert verb == "ready"
    assert task["port"] == 61_716
    assert task["host"] == "127.0.0.1:8000"
    assert running.timeouts[0] > 20


@pytest.mark.parametrize("found", ["", "not JSON"])
def test_a_probe_that_says_something_else_is_the_hosts_fault(found: str) -> None:
    with pytest.raises(Infrastructure, match="the probe said"):
        wait(Scripted(found))
