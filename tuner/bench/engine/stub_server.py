"""The program of a stub: answers HTTP and HTTPS after a delay. It runs alone, on bare Python 3.11.

Ours, as no kept program fits into each arm of each block: lognormal delays by two percentiles that
are right in each few hundred requests, TLS for names that are known at the start only, a quick
start, little memory. Mountebank 2.9 started in 1.6 s, took 79 MB, and served 900 requests/s on a
CPU of which this program serves 4 000; its delays need a script. WireMock has lognormal delays, and
needs a JVM.

Its one argument is a file with: name, hosts, ports (scheme by port), latency_ms (p50, sigma), and
responses (path, method, status, headers, body). Once all ports are open, `CA` holds the certificate
to trust. A request that no response fits gets 404, and a line in the log: the 1st, 10th, 100th.
"""

import asyncio
import json
import math
import random
import selectors
import signal
import ssl
import subprocess
import sys
from asyncio.sslproto import SSLProtocol
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from select import select
from statistics import NormalDist
from typing import Any

CA = "/dev/shm/ca.pem"  # noqa: S108  # of the container, in memory, as are the keys
_KEPT = Path(CA).parent
_BACKLOG = 4096
_MOST_HEAD = 65_536
_MOST_UNKNOWN = 200  # kinds of requests that are counted apart
_STRATA = 200
_TLS_RECORD = 16_384
_EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30")


class PreciseSelector(selectors.EpollSelector):
    """Wakes within 0.1 ms of the time wanted: Python rounds epoll's own time up to whole ms."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """As the base class."""
        if timeout is not None and timeout > 0:
            select([self.fileno()], [], [], timeout)
            timeout = 0
        return super().select(timeout)


def delays(p50_s: float, sigma: float, draw: random.Random) -> Iterator[float]:
    """Lognormal delays in seconds, for ever.

    Each 200 of them have one in each of 200 equal parts of the distribution, in a new order. So p50
    and p95 are right in each window, and two arms wait for the same time.
    """
    normal, order = NormalDist(), list(range(_STRATA))
    while True:
        draw.shuffle(order)
        for part in order:
            share = (part + max(draw.random(), 1e-9)) / _STRATA
            yield p50_s * math.exp(sigma * normal.inv_cdf(share)) if sigma else p50_s


@dataclass(frozen=True, slots=True)
class Request:
    """What decides about the answer; the path has no query."""

    method: str
    path: str
    closes: bool


class BadRequest(Exception):
    """Not HTTP/1; the connection ends."""


@dataclass(slots=True)
class Answers:
    """The bytes of each answer, and how often there was none."""

    name: str
    responses: list[dict[str, Any]]
    unknown: Counter[str] = field(default_factory=Counter)
    _made: dict[tuple[int, bool, bool], bytes] = field(default_factory=dict)

    def of(self, request: Request) -> bytes:
        """The whole answer."""
        for number, response in enumerate(self.responses):
            if _fits(response, request):
                kind = number, request.method == "HEAD", request.closes
                if kind not in self._made:
                    self._made[kind] = _bytes_of(response, request)
                return self._made[kind]
        self._count(f"{request.method} {request.path[:200]}")
        text = f"the stub {self.name} has no response for {request.method} {request.path}\n"
        none = {"status": 404, "headers": {"Content-Type": "text/plain"}, "body": text}
        return _bytes_of(none, request)

    def _count(self, what: str) -> None:
        if what not in self.unknown and len(self.unknown) >= _MOST_UNKNOWN:
            what = "other requests"
        self.unknown[what] += 1
        number = self.unknown[what]
        if number == 10 ** (len(str(number)) - 1):
            print(f"404: no response for {what} ({number} so far)", flush=True)  # noqa: T201


def _fits(response: dict[str, Any], request: Request) -> bool:
    path, method = response["path"], "GET" if request.method == "HEAD" else request.method
    is_there = request.path.startswith(path[:-1]) if path.endswith("*") else request.path == path
    return is_there and response["method"] in (None, method)


def _bytes_of(response: dict[str, Any], request: Request) -> bytes:
    status = int(response["status"])
    body = b"" if status in (204, 304) else response["body"].encode()
    words = HTTPStatus(status).phrase if status in {*HTTPStatus} else ""
    lines = [f"HTTP/1.1 {status} {words}"]
    lines += [f"{name}: {value}" for name, value in response["headers"].items()]
    if status not in (204, 304):
        lines.append(f"Content-Length: {len(body)}")
    lines.append("Connection: close" if request.closes else "Connection: keep-alive")
    head = "\r\n".join((*lines, "", "")).encode("latin-1")
    return head if request.method == "HEAD" else head + body


class Connection(asyncio.Protocol):
    """One connection. Requests that come before the last answer wait, as in HTTP/1.1."""

    def __init__(self, answers: Answers, waits: Iterator[float]) -> None:
        self._answers, self._waits = answers, waits
        self._loop = asyncio.get_running_loop()
        self._data = bytearray()
        self._parts = self._requests()
        self._answer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called once."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  # of TCP or TLS
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Called with each piece."""
        self._data += data
        if self._answer is None:
            self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """An answer that nobody waits for is not sent."""
        if self._answer is not None:
            self._answer.cancel()

    def _go_on(self) -> None:
        try:
            request = next(self._parts)
        except (BadRequest, ValueError):
            self._transport.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            self._transport.close()
            return
        if request is None:
            return
        wait_s = next(self._waits)
        if wait_s:
            self._answer = self._loop.call_later(wait_s, self._send, request)
        else:
            self._send(request)

    def _send(self, request: Request) -> None:
        self._answer = None
        self._transport.write(self._answers.of(request))
        if request.closes:
            self._transport.close()
        elif self._data:
            self._loop.call_soon(self._go_on)  # no recursion for a long pipeline

    def _requests(self) -> Iterator[Request | None]:
        """Each request once its body is here; None while a part is missing."""
        while True:
            while (end := self._data.find(b"\r\n\r\n")) < 0:
                if len(self._data) > _MOST_HEAD:
                    raise BadRequest
                yield None
            first, *lines = bytes(self._data[:end]).decode("latin-1").split("\r\n")
            del self._data[: end + 4]
            method, target, version = first.split(" ")
            headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines)}
            if "expect" in headers:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            yield from self._body(headers)
            asked = headers.get("connection", "").lower()
            closes = asked == "close" or (version == "HTTP/1.0" and asked != "keep-alive")
            yield Request(method, target.partition("?")[0], closes)

    def _body(self, headers: dict[str, str]) -> Iterator[None]:
        """Read it and throw it away."""
        if headers.get("transfer-encoding", "").lower() != "chunked":
            yield from self._skip(int(headers.get("content-length", "0")))
            return
        size = -1
        while size != 0:
            size = int((yield from self._line()).partition(b";")[0], 16)
            yield from self._skip(size + 2 if size else 0)
        while (yield from self._line()):  # trailers
            pass

    def _skip(self, left: int) -> Iterator[None]:
        while left > len(self._data):
            left -= len(self._data)
            self._data.clear()
            yield None
        del self._data[:left]

    def _line(self) -> Any:
        while (end := self._data.find(b"\r\n")) < 0:
            if len(self._data) > _MOST_HEAD:
                raise BadRequest
            yield None
        line = bytes(self._data[:end])
        del self._data[: end + 2]
        return line


def certified(hosts: list[str]) -> ssl.SSLContext:
    """TLS for these names by a CA of this container alone; its certificate is in `CA`.

    The key of the CA goes at once, and that of the server never leaves the container's memory.
    """
    ca_key, key, chain = (str(_KEPT / name) for name in ("ca.key", "server.key", "server.pem"))
    own = ("openssl", "req", "-x509", *_EC)
    ca = ("-subj", "/CN=stubs of one arm", "-keyout", ca_key, "-out", f"{CA}.new")
    names = f"subjectAltName={','.join(f'DNS:{host}' for host in hosts)}"
    signed = ("-CA", f"{CA}.new", "-CAkey", ca_key, "-subj", "/CN=stub", "-addext", names)
    bare = ("-addext", "basicConstraints=critical,CA:FALSE")
    usage = ("-addext", "keyUsage=critical,digitalSignature")
    sign = ("-addext", "keyUsage=critical,keyCertSign")
    subprocess.run([*own, *ca, *sign], check=True, stderr=subprocess.DEVNULL)
    leaf = [*own, *signed, *bare, *usage, "-keyout", key, "-out", chain]
    subprocess.run(leaf, check=True, stderr=subprocess.DEVNULL)
    Path(ca_key).unlink()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context


async def serve(given: dict[str, Any], context: Callable[[], ssl.SSLContext]) -> None:
    """Serve until SIGTERM."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    answers = Answers(given["name"], given["responses"])
    # A fixed seed: each arm meets the same delays.
    waits = delays(given["p50_ms"] / 1000, given["sigma"], random.Random(42))  # noqa: S311
    tls = context() if "https" in given["ports"].values() else None
    for port, scheme in given["ports"].items():
        made = partial(Connection, answers, waits)
        its = tls if scheme == "https" else None
        await loop.create_server(made, None, int(port), ssl=its, backlog=_BACKLOG)
    ready = Path(f"{CA}.new")
    ready.touch()
    ready.rename(CA)
    await ended.wait()


def main() -> None:
    """Read the file that the command line names, and serve."""
    given = json.loads(Path(sys.argv[1]).read_text())
    SSLProtocol.max_size = _TLS_RECORD  # of 256 KB: a connection takes 0.04 MB instead of 0.28
    with asyncio.Runner(
        loop_factory=lambda: asyncio.SelectorEventLoop(PreciseSelector())
    ) as runner:
        runner.run(serve(given, partial(certified, [given["name"], *given["hosts"]])))


if __name__ == "__main__":
    main()
