"""Command lines, and what the probe's findings turn into."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.unit.load.test_results import DOCUMENT
from tuner.errors import Infrastructure, TargetFailed
from tuner.load.oha import COMMON, Oha, command_line, urls
from tuner.measurement import LoadGenerator, RunningTarget, Usage
from tuner.model import (
    DEFAULT_COMMAND,
    ClosedLoop,
    FailureCode,
    HttpRequest,
    OpenLoop,
    Target,
)

TARGET = Target(
    target_app="app",
    port=8000,
    health_path="/up",
    command=DEFAULT_COMMAND,
    thread_safe=False,
    memory_per_process_mb=1,
)
CENSUS = {"processes": 2, "accepting": 2, "cheap": 0, "respawns": 0}
STATS = json.dumps(
    {
        "workers": [
            {
                "status": "idle",
                "accepting": 1,
                "requests": 7,
                "respawn_count": 1,
                "running_time": 9,
                "cores": [{}],
            }
        ]
    }
)


@dataclass
class Scripted:
    """A running target whose probe says what the test wants."""

    found: Any
    log: str = "the log"
    client_cpus: int = 1
    shares_cpus: bool = False
    timeouts: list[float] = field(default_factory=list)

    def run_beside(self, argv: Sequence[str], *, timeout_s: float) -> str:
        self.timeouts.append(timeout_s)
        return self.found if isinstance(self.found, str) else json.dumps(self.found)

    def usage(self) -> Usage:
        raise NotImplementedError

    def log_tail(self) -> str:
        return self.log


def window(client: str, **changes: Any) -> dict[str, Any]:
    counters = {"stats": STATS, "listen_overflows": 3, "time_wait": 5}
    return {
        "before": counters,
        "after": {**counters, "listen_overflows": 10},
        "exit_code": 0,
        "client": client,
        "client_error": "",
        "client_cpu_s": 0.5,
        "started_at": 1_700_000_000.0,
        "wall_s": 2.6,
        **changes,
    }


@pytest.fixture
def oha() -> Oha:
    return Oha(stats_address="127.0.0.1:1717", ready_timeout_s=20)


def test_a_closed_loop() -> None:
    words = command_line(ClosedLoop(concurrency=50), 2.5, 1)
    assert words == [*COMMON, "--worker-threads", "1", "-z", "2500ms", "-c", "50", "-m=GET"]


def test_an_open_loop_counts_latency_from_when_a_request_was_due() -> None:
    words = command_line(OpenLoop(kind="open_loop", rate_rps=1_000_000, concurrency=9), 1, 2)
    assert words[-4:] == ["-q", "1000000", "--latency-correction", "-m=GET"]


def test_values_that_begin_with_a_dash_stay_values() -> None:
    request = HttpRequest(path="/a", method="POST", headers={"X": "-b"}, body="-x=1")
    words = command_line(ClosedLoop(concurrency=1, requests=(request,)), 1, 1)
    assert words[-3:] == ["-m=POST", "-H=X: -b", "-d=-x=1"]


def test_a_repeated_request_is_its_weight() -> None:
    requests = (HttpRequest(path="/a"), HttpRequest(path="/b?c=1"), HttpRequest(path="/a"))
    assert urls(TARGET, ClosedLoop(concurrency=1, requests=requests)) == [
        "http://127.0.0.1:8000/a",
        "http://127.0.0.1:8000/b?c=1",
        "http://127.0.0.1:8000/a",
    ]


def test_a_window_is_read(oha: Oha) -> None:
    running = Scripted(window(json.dumps(DOCUMENT)))
    reading = oha.drive(running, TARGET, ClosedLoop(concurrency=4), 2.0)
    assert reading.requests == 22
    assert reading.listen_overflows == 7
    assert reading.time_wait == 5
    assert reading.client_cpu_s == 0.5
    assert reading.started_at.isoformat() == "2023-11-14T22:13:20+00:00"
    assert reading.after is not None
    assert reading.after.requests == 7
    assert not reading.ports_exhausted
    assert running.timeouts[0] > 2 + 10 + 10


def test_errors_alone_are_the_targets_fault(oha: Oha) -> None:
    client = json.dumps({**DOCUMENT, "statusCodeDistribution": {"500": 9}})
    with pytest.raises(TargetFailed, match="http_500 9") as failed:
        oha.drive(Scripted(window(client)), TARGET, ClosedLoop(concurrency=4), 2.0)
    assert failed.value.code == FailureCode.ERRORS_ONLY


@pytest.mark.parametrize(
    "found", ["", "not JSON", window("", exit_code=2, client_error="oha: unknown flag")]
)
def test_a_generator_that_fails_is_the_hosts_fault(oha: Oha, found: Any) -> None:
    with pytest.raises(Infrastructure):
        oha.drive(Scripted(found), TARGET, ClosedLoop(concurrency=4), 2.0)


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
def test_what_was_seen_is_said(oha: Oha, found: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(TargetFailed, match=words) as failed:
        oha.wait_ready(Scripted(found), TARGET)
    assert failed.value.code == code
    assert failed.value.log_tail == "the log"


def test_workers_killed_for_memory_are_recognised(oha: Oha) -> None:
    running = Scripted(
        {"outcome": "crash_loop", "stats": {**CENSUS, "respawns": 9}, "answer": None},
        log="DAMN ! worker 1 (pid: 8) died, killed by signal 9 :( trying respawn ...",
    )
    with pytest.raises(TargetFailed) as failed:
        oha.wait_ready(running, TARGET)
    assert failed.value.code == FailureCode.OUT_OF_MEMORY


def test_a_ready_target_passes(oha: Oha) -> None:
    oha.wait_ready(Scripted({"outcome": "ready", "stats": CENSUS, "answer": 200}), TARGET)


def test_it_fits_where_it_is_used(oha: Oha) -> None:
    load: LoadGenerator = oha
    running: RunningTarget = Scripted(None)
    assert load
    assert running
