"""Clients that send slowly: each has its time, and all together have a bound."""

import asyncio
import http.client
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager

import httpx
import pytest
import uvicorn

from tests.unit.api.fakes import Api
from tuner.service.api import app as served
from tuner.service.api import parameters

POST = b"POST /v1/lint HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@contextmanager
def serving() -> Iterator[int]:
    """The API behind uvicorn, as `serve` sets it up; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(Api().app, http=served._Protocol, log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def closes_after(connection: socket.socket, drip: bytes = b"") -> float:
    """Seconds until the server closes it, while another byte comes every 50 ms."""
    began = time.monotonic()
    connection.settimeout(0.05)
    while time.monotonic() - began < 10:
        try:
            if connection.recv(1024) == b"":
                return time.monotonic() - began
        except TimeoutError:
            if drip:
                connection.sendall(drip)
        except ConnectionError:
            return time.monotonic() - began
    raise AssertionError("it stays open")


def test_headers_that_do_not_end_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "HEADERS_WITHIN_S", 0.5)
    with serving() as port:
        address = ("127.0.0.1", port)
        for drip in (b"", b"x"):
            with closing(socket.create_connection(address)) as slow:
                slow.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
                assert closes_after(slow, drip) >= 0.4
        with closing(http.client.HTTPConnection(*address)) as good:
            good.request("GET", "/healthz")
            with good.getresponse() as answer:  # whole: its body may come after its headers
                assert (answer.status, answer.read()) == (200, b'{"status":"ok"}')
            first = good.sock
            time.sleep(0.6)  # longer than headers may take; uvicorn keeps it for 5 s
            good.request("GET", "/healthz")
            assert good.getresponse().status == 200
            assert good.sock is first


def test_a_body_that_does_not_end_is_answered_with_408(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "BODY_WITHIN_S", 0.5)
    with serving() as port, closing(socket.create_connection(("127.0.0.1", port))) as slow:
        slow.sendall(POST + b"Content-Length: 990000\r\n\r\n{")
        slow.settimeout(5)
        assert slow.recv(1024).startswith(b"HTTP/1.1 408")


def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with serving() as port:
        with closing(socket.create_connection(("127.0.0.1", port))) as leaving:
            leaving.sendall(POST + b"Content-Length: 990000\r\n\r\n{")
            time.sleep(0.2)
        time.sleep(0.2)
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_all_bodies_on_their_way_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "MOST_HELD_BYTES", 3_000)

    async def send(parts: int) -> int:
        async def slow() -> AsyncIterator[bytes]:
            for _ in range(parts):
                yield b" " * 500
                await asyncio.sleep(0.02)

        headers = {"content-type": "application/json"}
        return (await client.post("/v1/lint", content=slow(), headers=headers)).status_code

    async def all_at_once() -> tuple[list[int], int]:
        return await asyncio.gather(*(send(4) for _ in range(8))), await send(4)

    transport = httpx.ASGITransport(Api().app)
    client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
    answers, later = asyncio.run(all_at_once())
    assert {*answers} == {503, 422}
    assert later == 422  # nothing is held for ever
