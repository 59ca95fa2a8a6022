"""A service that answers as a test says, without a network; time passes by sleeping alone."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from tuner.client import Client
from tuner.client.watching import Time

Answer = httpx.Response | type[httpx.TransportError]
URL = "http://tuner.test"


@dataclass
class Scripted:
    """Answers in turn, the last one again and again; an error is raised as by a network.

    `streams` of events are answered in turn too, and then there are none, as in an older service.
    """

    answers: list[Answer]
    streams: list[Answer | Iterator[bytes]] = field(default_factory=list)
    opened: list[httpx.Request] = field(default_factory=list)
    seen: list[httpx.Request] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    now: float = 0.0

    def reply(self, request: httpx.Request) -> httpx.Response:
        request.read()
        if request.url.path.endswith("/events"):
            self.opened.append(request)
            return self._stream(request)
        self.seen.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not isinstance(answer, httpx.Response):
            raise answer("the network is gone", request=request)
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def _stream(self, request: httpx.Request) -> httpx.Response:
        found = self.streams.pop(0) if self.streams else problem(404)
        if isinstance(found, httpx.Response):
            return httpx.Response(found.status_code, headers=found.headers, content=found.content)
        if isinstance(found, type):
            raise found("the network is gone", request=request)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=found)

    def client(self, *, retries: int = 3, api_key: str | None = None, url: str = URL) -> Client:
        """A client of it."""
        transport, time = httpx.MockTransport(self.reply), Time(clock=self.clock, sleep=self.sleep)
        return Client(url, api_key, retries=retries, transport=transport, time=time)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    @property
    def calls(self) -> list[str]:
        """Method and path of what was asked."""
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.seen]


def scripted(*answers: Answer) -> Scripted:
    """A service with these answers."""
    return Scripted([*answers])


def ok(document: Any, status: int = 200, **headers: str) -> httpx.Response:
    """A JSON answer; `etag` and the like are headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=document, headers=named)


def problem(status: int, detail: str = "that is why", **more: Any) -> httpx.Response:
    """A problem as the service sends it."""
    return httpx.Response(status, json={"status": status, "detail": detail, **more})
