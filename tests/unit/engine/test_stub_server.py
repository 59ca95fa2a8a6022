"""The program of a stub without a network: its delays, its parser, its answers."""

import asyncio
import itertools
import random
import re
import statistics
from collections.abc import Sequence
from typing import Any

import pytest

from tuner.bench.engine.stub_server import Answers, Connection, delays
from tuner.nouns.model import Latency

CHARGE = {"path": "/v1/charge", "method": "POST", "status": 201, "headers": {}, "body": "paid"}
ANY = {"path": "/v1/*", "method": None, "status": 200, "headers": {"X-A": "b"}, "body": "any"}


@pytest.mark.parametrize(("p50", "p95"), [(80, 300), (5, 6), (20, 20)])
def test_p50_and_p95_are_right_in_any_few_hundred_requests(p50: float, p95: float) -> None:
    endless = delays(p50 / 1000, Latency(p50=p50, p95=p95).sigma, random.Random(1))  # noqa: S311
    for _ in range(5):
        found = statistics.quantiles(itertools.islice(endless, 400), n=100)
        assert found[49] * 1000 == pytest.approx(p50, rel=0.02)
        assert found[94] * 1000 == pytest.approx(p95, rel=0.05)


def test_the_tail_is_that_of_the_distribution() -> None:
    latency = Latency(p50=80, p95=300)
    endless = delays(0.08, latency.sigma, random.Random(1))  # noqa: S311
    found = sorted(itertools.islice(endless, 20_000))
    p99 = statistics.NormalDist().inv_cdf(0.99)
    assert found[19_800] == pytest.approx(0.08 * 2.71828 ** (latency.sigma * p99), rel=0.05)


class Wire(asyncio.Transport):
    """What a connection has sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_closed = True


def talk(*pieces: bytes, responses: Sequence[dict[str, Any]] = (CHARGE, ANY)) -> Wire:
    """What comes back for these pieces, each in a packet of its own."""

    async def run() -> Wire:
        wire = Wire()
        answers = Answers("payment", [*responses])
        connection = Connection(answers, itertools.repeat(0.0))
        connection.connection_made(wire)
        for piece in pieces:
            connection.data_received(piece)
            for _ in range(5):
                await asyncio.sleep(0)
        return wire

    return asyncio.run(run())


def statuses(wire: Wire) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", wire.sent)]


def test_the_first_response_that_fits_path_and_method_answers() -> None:
    post = b"POST /v1/charge?x=1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
    wire = talk(post, b"GET /v1/charge HTTP/1.1\r\n\r\n")
    assert statuses(wire) == [201, 200]
    assert b"X-A: b" in wire.sent
    assert wire.sent.endswith(b"any")


def test_what_no_response_fits_gets_404_and_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    wire = talk(*[b"GET /v1?token=secret HTTP/1.1\r\n\r\n"] * 12)
    assert statuses(wire) == [404] * 12
    told = capsys.readouterr().out
    assert told.splitlines() == [
        "404: no response for GET /v1 (1 so far)",
        "404: no response for GET /v1 (10 so far)",
    ]


def test_requests_may_come_in_pieces_or_several_at_once() -> None:
    chunked = (
        b"POST /v1/charge HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n2;a=b\r\nde\r\n0\r\nTrailer: x\r\n\r\n"
    )
    get = b"GET /v1/a HTTP/1.1\r\n\r\n"
    whole = chunked + get + b"POST /v1/charge HTTP/1.1\r\nContent-Length: 2\r\n\r\nab"
    together, apart = talk(whole), talk(*[bytes([byte]) for byte in whole])
    assert statuses(together) == statuses(apart) == [201, 200, 201]
    assert together.sent == apart.sent


def test_a_connection_stays_open_unless_the_client_closes_it() -> None:
    assert not talk(b"GET /v1/a HTTP/1.1\r\n\r\n").is_closed
    assert talk(b"GET /v1/a HTTP/1.1\r\nConnection: close\r\n\r\n").is_closed
    assert talk(b"GET /v1/a HTTP/1.0\r\n\r\n").is_closed


def test_head_gets_the_head_of_get_and_no_content_has_no_body() -> None:
    wire = talk(b"HEAD /v1/a HTTP/1.1\r\n\r\n")
    assert b"Content-Length: 3" in wire.sent
    assert wire.sent.endswith(b"\r\n\r\n")
    empty = talk(b"POST /v1/charge HTTP/1.1\r\n\r\n", responses=[CHARGE | {"status": 204}])
    assert b"Content-Length" not in empty.sent


def test_what_is_no_http_ends_the_connection() -> None:
    wire = talk(b"\x16\x03\x01 hello\r\n\r\n")
    assert statuses(wire) == [400]
    assert wire.is_closed
