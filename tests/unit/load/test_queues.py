"""Accept queues, as the kernel of this machine shows them."""

import json
import socket
import tempfile
import time

import pytest

from tuner.bench.load.probe import queues


def test_the_queue_of_a_port_is_seen_filling() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=5) as listening:
        port = listening.getsockname()[1]
        assert queues.look([port]) == {port: (0, 5)}
        callers = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        assert queues.look([port]) == {port: (3, 5)}
        for caller in callers:
            caller.close()
    assert queues.look([port]) == {}


@pytest.mark.parametrize("abstract", [False, True])
def test_the_queue_of_a_unix_socket_is_seen_filling(abstract: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/app.sock"
        given = f"@{path}" if abstract else path
        name = queues.parse(given)
        assert isinstance(name, str)
        with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as caller:
            listening.bind(name)
            listening.listen(7)
            caller.connect(name)
            assert queues.look([name]) == {name: (1, 7)}


def test_a_watch_tells_the_fullest_of_its_queues() -> None:
    with (
        socket.create_server(("127.0.0.1", 0), backlog=100) as large,
        socket.create_server(("127.0.0.1", 0), backlog=4) as small,
    ):
        ports: list[queues.Socket] = [each.getsockname()[1] for each in (large, small)]
        callers = [socket.create_connection(("127.0.0.1", port)) for port in ports * 2]
        with queues.Watch([*ports, 1]) as watch:
            time.sleep(4 * queues.EVERY_S)
        for caller in callers:
            caller.close()
    assert watch.reading() == {"p95": 2.0, "max": 2, "size": 4}


def test_a_watch_that_saw_nothing_says_so() -> None:
    with queues.Watch(["/no/such.sock"]) as watch:
        time.sleep(2 * queues.EVERY_S)
    assert watch.reading() is None


def test_each_step_has_its_most_and_one_without_a_look_is_like_the_one_before() -> None:
    looks = [(9.9, (40, 100)), (10.0, (1, 100)), (10.1, (7, 100)), (10.6, (2, 100))]
    assert queues.most_of(looks, 10.0, 3) == [7, 7, 2]
    assert queues.most_of(looks, 10.0, 9) == [7, 7, 2], "none after the last look"
    assert queues.most_of(looks, 9.0, 2) == [0, 0]


def test_the_series_is_of_the_fullest_queue() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=4) as listening:
        port = listening.getsockname()[1]
        caller = socket.create_connection(("127.0.0.1", port))
        began_s = time.monotonic()
        with queues.Watch([port, 1]) as watch:
            time.sleep(4 * queues.EVERY_S)
        caller.close()
    assert set(watch.series(began_s, 2)) == {1}
    assert queues.Watch([port]).series(began_s, 2) == []


def test_the_95th_percentile_leaves_out_a_short_peak() -> None:
    found = queues.reading_of([(1, 100)] * 98 + [(90, 100)] * 2)
    assert found == {"p95": 1.0, "max": 90, "size": 100}


def front(topology: str, address: str | None = None) -> dict[str, object]:
    return {"topology": topology, "port": 8000, "socket": address}


def test_what_is_watched_is_what_the_load_fills() -> None:
    stats = json.dumps({"sockets": [{"name": "127.0.0.1:33235"}, {"name": "/run/x.sock"}]})
    assert queues.watched(front("http_socket"), stats) == [8000]
    assert queues.watched(front("http11_socket"), stats) == [8000]
    assert queues.watched(front("http_router"), stats) == [8000, 33235, "/run/x.sock"]
    assert queues.watched(front("nginx", ":3031"), stats) == [3031]
    assert queues.watched(front("nginx", "/run/app.sock"), stats) == ["/run/app.sock"]
    assert queues.watched(front("nginx", "@app"), stats) == ["\0app"]
