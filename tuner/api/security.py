"""Access control in front of every route: the API key, and no pages of other sites."""

import hmac
from collections.abc import Collection
from fnmatch import fnmatchcase
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tuner.api.problems import problem

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
OPEN_BELOW = "/static/"
"""What the pages load is the same for everybody: it needs no key."""

SCHEMES = {
    "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer"},
}


def path_of(scope: Scope) -> str:
    """The path of a request below the base path, under which a proxy serves the whole service."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_BELOW)


class RequireKey:
    """ASGI middleware: 401 for a request without the key, except for health and static files.

    A session of a browser, once there are such, is looked at in `_is_allowed`, and nowhere else.
    """

    def __init__(self, app: ASGIApp, *, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _is_open(path_of(scope)) or self._is_allowed(scope):
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
    """ASGI middleware: 403 for what a page of another site makes a browser send.

    Such a page can reach a service that only the browser's user can reach: by a cross-site request,
    or by a host name of the page's owner that resolves to the service's address.
    """

    def __init__(self, app: ASGIApp, *, hosts_allowed: Collection[str]) -> None:
        self._app = app
        self._hosts_allowed = ("localhost", *hosts_allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        answering = self._app if refusal is None else problem(403, refusal)
        await answering(scope, receive, send)

    def _refusal(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", "localhost"), headers.get("origin")
        if not self._is_ours(host):
            return (
                "the service does not know this name in the Host header as its own: use an IP"
                " address, or add the name to TUNER_HOSTS_ALLOWED"
            )
        if origin is not None:
            sender = origin.partition("://")[2]
            known = sender == host or self._is_named(sender)
            return None if known else "the Origin header names another site"
        site = headers.get("sec-fetch-site", "none")
        if site in ("none", "same-origin") or _opens_a_page(scope["method"], headers):
            return None
        return "a page of another site sent this request"

    def _is_ours(self, host: str) -> bool:
        """Nobody can have an IP address resolve to another one."""
        try:
            ip_address(_name_of(host))
        except ValueError:
            return self._is_named(host)
        return True

    def _is_named(self, host: str) -> bool:
        return any(fnmatchcase(_name_of(host), glob) for glob in self._hosts_allowed)


def _opens_a_page(method: str, headers: Headers) -> bool:
    """Whether somebody followed a link: the other site cannot read the answer."""
    sent = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return method in ("GET", "HEAD") and sent == ("navigate", "document")


def _name_of(host: str) -> str:
    """The host without its port, in small letters; empty if it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
