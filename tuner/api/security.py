"""Access control in front of every route: the API key, and no pages of other sites."""

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tuner.api.problems import problem

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
SCHEMES = {
    "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer"},
}


class RequireKey:
    """ASGI middleware: 401 for a request without the key, except for health."""

    def __init__(self, app: ASGIApp, *, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._is_allowed(scope):
            await self._app(scope, receive, send)
            return
        detail = "this service asks for a key: send it as X-API-Key or as Authorization: Bearer"
        answer = problem(401, detail, headers={"WWW-Authenticate": 'Bearer realm="uwsgi-tuner"'})
        await answer(scope, receive, send)

    def _is_allowed(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        kind, _, token = headers.get("authorization", "").partition(" ")
        offered = [headers.get("x-api-key", ""), token.strip() if kind.lower() == "bearer" else ""]
        # Header text is latin-1; compare_digest takes only bytes where it is not ASCII.
        return any([hmac.compare_digest(text.encode(), self._key) for text in offered])


class RefuseOtherSites:
    """ASGI middleware: 403 for requests that a page of another site makes a browser send.

    A service without a key listens on loopback only and trusts every client there. A browser on
    the same machine is such a client for any page: by a cross-site request, or by a host name of
    the page's owner that resolves to 127.0.0.1.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_foreign(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        detail = "without a key, this service answers to 127.0.0.1 and localhost, not to web pages"
        await problem(403, detail)(scope, receive, send)


def _is_foreign(headers: Headers) -> bool:
    host = headers.get("host", "localhost")
    try:
        if urlsplit(f"//{host}").hostname not in LOOPBACK_NAMES:
            return True
    except ValueError:
        return True
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != host
