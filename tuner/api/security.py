"""The API key: in front of everything but health, so that no route can be forgotten."""

import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tuner.api.problems import problem

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
SCHEMES = {
    "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer"},
}


class RequireKey:
    """ASGI middleware: 401 unless the request carries the key, or asks for health."""

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
