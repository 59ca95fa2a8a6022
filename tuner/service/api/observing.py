"""Each request gets an id, for the log and for the answer, and is timed under its route."""

import re
import time
from uuid import uuid4

from prometheus_client import Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tuner.nouns import log_context

REQUEST_ID = "X-Request-ID"
NO_ROUTE = "none"
"""The route of a request that was refused before there was one, or that has none."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_GOOD_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


def new_latencies() -> Histogram:
    """Latencies of one app. No label holds what a client can choose freely."""
    return Histogram(
        "tuner_http_request_seconds",
        "From the first byte of a request to the first byte of its answer",
        ("method", "route", "status"),
        registry=None,
        buckets=BUCKETS_S,
    )


def echoed() -> dict[str, str]:
    """The header that names the present request, for an answer made outside of the middleware."""
    return {REQUEST_ID: str(log_context.present().get("request", ""))}


class ObserveRequests:
    """ASGI middleware, the outermost: it also sees what the others refuse.

    The time ends with the first byte of the answer, so a stream of events counts as fast as it
    begins.
    """

    def __init__(self, app: ASGIApp, *, latencies: Histogram) -> None:
        self._app = app
        self._latencies = latencies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, request_id, is_answered = time.perf_counter(), _id_of(scope), False
        log_context.begin(request=request_id)

        async def answer(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                is_answered = True
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
                self._observe(scope, message["status"], time.perf_counter() - began)
            await send(message)

        try:
            await self._app(scope, receive, answer)
        finally:
            if not is_answered:  # Starlette answers 500 outside of all middleware
                self._observe(scope, 500, time.perf_counter() - began)

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = getattr(scope.get("route"), "path", NO_ROUTE)
        self._latencies.labels(method, route, str(status)).observe(seconds)


def _id_of(scope: Scope) -> str:
    """The id that the client gave, if it can stand in a log; else a new one."""
    given = Headers(scope=scope).get(REQUEST_ID, "")
    return given if _GOOD_ID.fullmatch(given) else uuid4().hex
