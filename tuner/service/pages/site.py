"""All pages on an app of `api`, and its problems as pages."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tuner.service.api.problems import DETAILS, MEDIA_TYPE, RETRY_AFTER_S, problem
from tuner.service.pages import answering, apps, jobs, lint, new, sharing, signing_in
from tuner.service.pages.answering import is_shared, packed, rendered
from tuner.service.pages.signing_in import ask_first

# ---- Problems as pages: a browser gets the same status and words, in the design of all pages
#
# A program gets `application/problem+json`, as the calls document it.

_NEXT: Mapping[int, str] = {
    403: "Open the page from this service itself, and try again from there.",
    404: "It may be an old link. The lists of apps and jobs have what there is.",
    409: "Look at the job first: it may have ended meanwhile.",
    422: "Correct the address or the form, and try again.",
    500: "The log of the service says more. Other pages still work.",
    503: f"This page tries again every {RETRY_AFTER_S} seconds, by itself.",
}
_OF_A_LINK = "Ask for a new one where you got it from."
_OTHERWISE = "The lists of apps and jobs have what there is."


class ProblemsAsPages:
    """ASGI middleware: a problem becomes a page where the request accepts HTML."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_for_people(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        held: Message | None = None
        body = bytearray()

        async def through(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _is_problem(message):
                held = message
            elif held is None:
                await send(message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    request = Request(scope)
                    headers = MutableHeaders(raw=held["headers"])
                    await _page(request, json.loads(body), headers)(scope, receive, send)

        await self._app(scope, receive, through)


def _is_for_people(headers: Headers) -> bool:
    return "text/html" in headers.get("accept", "")


def _is_problem(start: Message) -> bool:
    kind = Headers(raw=start["headers"]).get("content-type", "")
    return kind.startswith(MEDIA_TYPE)


_OF_THE_PROBLEM = frozenset(
    {"content-type", "content-length", "cache-control", "x-content-type-options"}
)


def _page(request: Request, found: Mapping[str, Any], headers: MutableHeaders) -> Response:
    """`headers` are those of the problem; what describes its body does not hold for the page."""
    status = int(found["status"])
    kept = {name: value for name, value in headers.items() if name not in _OF_THE_PROBLEM}
    if status == 401:
        return ask_first(request, kept)
    advice = _OF_A_LINK if status == 404 and is_shared(request) else _NEXT.get(status, _OTHERWISE)
    text = rendered(
        request,
        "problem.html.j2",
        problem=found,
        advice=advice,
        retry_s=RETRY_AFTER_S if status == 503 else None,
    )
    return packed(request, text, "text/html", {"Cache-Control": "no-store", **kept}, status)


def _own_fault(request: Request, error: Exception) -> Response:
    # Starlette raises the error again after this answer, so the server logs its traceback.
    answer = problem(500, DETAILS[500])
    if not _is_for_people(request.headers):
        return answer
    return _page(request, json.loads(bytes(answer.body)), MutableHeaders())


# ---- All pages on an app of `api`


def install(app: FastAPI) -> FastAPI:
    """The same app with its pages. Problems are pages too where a browser asks."""
    for router in (
        apps.router,
        jobs.router,
        sharing.router,
        new.router,
        lint.router,
        signing_in.router,
        answering.router,
    ):
        app.include_router(router, include_in_schema=False)
    app.add_middleware(ProblemsAsPages)
    app.add_exception_handler(Exception, _own_fault)
    return app
