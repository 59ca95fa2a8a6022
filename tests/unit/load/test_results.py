"""What the probe finds, in the model's words."""

from typing import Any

import pytest

from tests.unit.load.findings import stats, window
from tuner.bench.load.results import WINDOW, by_class, error_class, reading_of
from tuner.nouns.errors import Infrastructure
from tuner.nouns.model import Spread


def test_a_window_is_read() -> None:
    reading = reading_of(WINDOW.validate_python(window()), "oha")
    assert reading.started_at.isoformat() == "2023-11-14T22:13:20+00:00"
    assert (reading.duration_s, reading.wall_s) == (2.0, 2.6)
    assert reading.host is not None
    assert reading.host.wall_s == 2.9
    assert (reading.requests, reading.sent) == (18, 24)
    assert reading.errors_by_class == {"http_500": 1, "reset": 1}
    assert reading.latency_p95_ms == 3.0
    assert reading.listen_overflows == 7
    assert reading.time_wait == 5
    assert reading.client_cpu_s == 0.5
    assert reading.after is not None
    assert reading.after.requests == 7
    assert not reading.ports_exhausted
    assert reading.stalled == 3
    assert reading.series == (4, 6, 8)
    assert reading.histogram.total == 18
    assert reading.processes is not None
    assert reading.processes.switches == 40
    assert reading.queue is not None
    assert (reading.queue.p95, reading.queue.size) == (6.0, 100)
    assert reading.host is not None
    assert (reading.host.busy_s, reading.host.own_s) == (3.0, 0.6)
    assert reading.over_time.queue == (0, 9, 6)
    assert reading.over_time.usage["app"].cores == (0.5, 1.0, 0.75)


def test_what_could_not_be_seen_is_none() -> None:
    reading = reading_of(
        WINDOW.validate_python(window(processes=None, queue=None, proxy=None)), "oha"
    )
    assert reading.processes is None
    assert reading.queue is None
    assert reading.proxy is None
    assert reading.connect is None


def test_what_the_proxy_logged_is_read() -> None:
    times = {"p50_ms": 1.0, "p95_ms": 2.0, "max_ms": 3.0}
    columns = {name: times for name in ("connect", "header", "response", "request")}
    proxy = {"requests": 9, "by_status": {"200": 8, "502": 1}, **columns}
    reading = reading_of(WINDOW.validate_python(window(proxy=proxy)), "oha")
    assert reading.proxy is not None
    assert reading.proxy.by_status == {"200": 8, "502": 1}
    assert reading.proxy.connect == Spread(p50_ms=1.0, p95_ms=2.0, max_ms=3.0)


def test_a_client_that_knows_when_the_load_began_is_believed() -> None:
    client = {**window()["client"], "started_at": 1_700_000_001.5}
    assert reading_of(WINDOW.validate_python(window(client=client)), "k6").started_at.second == 21


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"exit_code": -9}, r"load generator oha was killed \(signal 9\)"),
        ({"exit_code": 2, "client_error": " no such flag\n"}, r"failed \(exit 2\): no such flag"),
    ],
)
def test_a_generator_that_did_not_end_well_is_the_hosts_fault(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(Infrastructure, match=words):
        reading_of(WINDOW.validate_python(window(client=None, **changes)), "oha")


def test_stats_that_are_none_are_the_hosts_fault() -> None:
    counters = {**window()["after"], "stats": "{"}
    with pytest.raises(Infrastructure, match="stats cannot be read"):
        reading_of(WINDOW.validate_python(window(after=counters)), "oha")


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Connection refused (os error 111)", "refused"),
        ("Cannot assign requested address (os error 99)", "ports_exhausted"),
        ("connection closed before message completed", "early_close"),
        ("error reading a body from connection", "truncated"),
        ("connection error: Connection reset by peer (os error 104)", "reset"),
        ("connection error", "reset"),
        ("aborted due to deadline", "deadline"),
        ("operation was canceled", "other"),
        ("http_502", "http_502"),
        ("early_close", "early_close"),
        ("connect_timeout", "connect_timeout"),
    ],
)
def test_error_classes(message: str, name: str) -> None:
    assert error_class(message) == name


@pytest.mark.parametrize(("full", "name"), [(True, "connect_timeout"), (False, "read_timeout")])
def test_a_full_queue_tells_which_time_out_it_was(full: bool, name: str) -> None:
    found = by_class({"timeout": 2, name: 1, "refused": 4}, queue_was_full=full)
    assert found == {name: 3, "refused": 4}


def test_ports_that_ran_out_are_noticed() -> None:
    client = {**window()["client"], "errors": {"Cannot assign requested address": 5}}
    assert reading_of(WINDOW.validate_python(window(client=client)), "oha").ports_exhausted


@pytest.mark.parametrize(("is_relayed", "connects"), [(False, 30), (True, 25)])
def test_connections_between_a_router_and_its_workers_are_not_the_clients(
    is_relayed: bool, connects: int
) -> None:
    found = window(is_relayed=is_relayed)
    found["after"]["stats"] = stats(requests=12)  # 5 more than before
    assert reading_of(WINDOW.validate_python(found), "oha").connects == connects
