"""When the probe takes a target for ready."""

import json
import socket
import time
from typing import Any

import pytest

from tests.unit.load.servers import request_of, serving
from tuner.bench.load.probe import ready


def worker(status: str, accepting: int) -> dict[str, Any]:
    return {
        "status": status,
        "accepting": accepting,
        "requests": 1,
        "respawn_count": 1,
        "running_time": 0,
        "cores": [{}],
    }


@pytest.mark.parametrize(
    ("workers", "is_ready"),
    [
        ([worker("idle", 1), worker("busy", 1)], True),
        ([worker("idle", 1), worker("idle", 0)], False),
        ([worker("idle", 1), worker("cheap", 0)], True),
        ([worker("idle", 1), worker("cheap", 1)], True),
        ([worker("cheap", 0)], False),
        ([], False),
    ],
)
def test_ready_is_a_target_whose_every_process_accepts(workers: list[Any], is_ready: bool) -> None:
    text = json.dumps({"workers": workers})
    assert ready.accepts(ready.census(text)) is is_ready


def test_no_stats_are_not_ready() -> None:
    assert not ready.accepts(ready.census(None))
    assert not ready.accepts(ready.census("{"))


def test_a_few_respawns_are_borne() -> None:
    assert not ready.keeps_dying(None)
    assert not ready.keeps_dying({"processes": 2, "respawns": 5})
    assert ready.keeps_dying({"processes": 2, "respawns": 6})


def test_a_server_that_keeps_its_connections_is_ready_as_soon_as_it_answers() -> None:
    def keep(connection: socket.socket) -> None:
        while request_of(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            connection.sendall(b"ok")

    with serving(keep) as port:
        began = time.monotonic()
        assert ready.ask(port, "/", "127.0.0.1", 5) == 200
        assert time.monotonic() - began < 4.5


@pytest.mark.parametrize(
    ("answer", "words"),
    [(b"", "the answer is not HTTP"), (b"HTTP/1.0 503 Busy\r\n\r\nbusy", 503)],
)
def test_what_was_answered_is_said(answer: bytes, words: int | str) -> None:
    def close(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(answer)

    with serving(close) as port:
        assert ready.ask(port, "/", "127.0.0.1", 5) == words
    assert ready.ask(port, "/", "127.0.0.1", 5) == f"nothing listens on port {port}"


@pytest.mark.parametrize("good", [1, 2])
def test_another_server_is_ready_once_it_has_answered_twice(good: int) -> None:
    answers = [b"HTTP/1.1 200 OK\r\n\r\n"] * good
    asked: list[bytes] = []

    def answer(connection: socket.socket) -> None:
        asked.append(request_of(connection))
        connection.sendall(answers.pop() if answers else b"HTTP/1.1 503 Busy\r\n\r\n")

    with serving(answer) as port:
        task = {"timeout_s": 0.5, "stats": None, "port": port, "path": "/", "host": "localhost"}
        found = ready.ready(task)
    assert found["stats"] is None
    assert (found["outcome"], found["answer"]) == (
        ("ready", 200) if good == ready.ANSWERS_OF_OTHERS else ("timeout", 503)
    )
    assert len(asked) >= 2
