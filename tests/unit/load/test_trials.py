"""Single requests against servers that keep, close and hang."""

import socket
from typing import Any

import pytest

from tests.unit.load.servers import request_of, serving
from tuner.bench.load.probe import ready

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def task(port: int, *paths: str, **changes: Any) -> dict[str, Any]:
    request = {"method": "GET", "headers": {}, "body": None, **changes}
    requests = [{"path": path, **request} for path in paths or ("/",)]
    return {"port": port, "host": "127.0.0.1:8000", "requests": requests}


def keep(connection: socket.socket) -> None:
    while request_of(connection):
        connection.sendall(OK)


def close(connection: socket.socket) -> None:
    request_of(connection)
    connection.sendall(OK)


def close_after_saying_so(connection: socket.socket) -> None:
    request_of(connection)
    connection.sendall(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))


def sit(connection: socket.socket) -> None:
    request_of(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nok")
    request_of(connection)  # which never comes


def end_by_closing(connection: socket.socket) -> None:
    request_of(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nok")


def hang_up(connection: socket.socket) -> None:
    request_of(connection)


@pytest.mark.parametrize(
    ("server", "outcome"),
    [
        (keep, "kept"),
        (close, "closed"),
        (close_after_saying_so, "announced"),
        (end_by_closing, "announced"),
        (sit, "endless"),
        (hang_up, "failed"),
    ],
)
def test_what_becomes_of_a_connection(
    server: Any, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ready, "QUIET_FOR_S", 0.2)
    with serving(server) as port:
        (found,) = ready.keepalive(task(port))
    assert found["outcome"] == outcome


@pytest.mark.parametrize(("server", "tried"), [(close, 1), (keep, 2), (close_after_saying_so, 2)])
def test_the_first_connection_that_ends_without_a_word_ends_the_trial(
    server: Any, tried: int
) -> None:
    with serving(server) as port:
        assert len(ready.keepalive(task(port, "/a", "/b"))) == tried


def test_each_request_is_sent_as_it_is_given() -> None:
    seen: list[bytes] = []

    def remember(connection: socket.socket) -> None:
        seen.append(request_of(connection))
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")

    with serving(remember) as port:
        given = task(port, "/a?b=c", method="PUT", headers={"host": "example.org"}, body="ä")
        assert ready.try_each(given) == [{"answer": 302, "length": 0}]
    assert len(seen) == 1
    assert seen[0].startswith(b"PUT /a?b=c HTTP/1.1\r\n")
    assert seen[0].endswith("\r\n\r\nä".encode())
    assert seen[0].lower().count(b"host:") == 1
    assert b"host: example.org\r\n" in seen[0]


def test_no_answer_is_said_in_words() -> None:
    with serving(hang_up) as port:
        (failed,) = ready.try_each(task(port))
    assert "closed connection" in failed["answer"]
    assert failed["length"] == 0
    (refused,) = ready.try_each(task(port))
    assert "refused" in refused["answer"]
