"""Access control in front of every route: a key or a session, no pages of other sites."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tuner.nouns.errors import Unavailable
from tuner.nouns.model import ANYBODY, MOST_SAID, Action, Caller, printable
from tuner.service.api.callers import (
    CHANGE_NOTHING,
    COOKIE,
    SIGN_IN,
    Callers,
    Session,
    WrongKeys,
    scope_needed,
)
from tuner.service.api.problems import DETAILS, IS_STRANGER, problem, unavailable

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
SHARED = "/shared/"
"""Addresses below it name a secret, which is all the key that they need."""

TOKEN_HEADER = "X-CSRF-Token"  # noqa: S105  a name
_OPEN_BELOW = ("/static/", SHARED)  # what pages load is the same for everybody
_CALLS = "/v1/"
_SESSION, _CALLER, _STILL = "tuner.session", "tuner.caller", "tuner.still"  # in a request's scope

log = logging.getLogger(__name__)

SCHEMES = {
    "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer"},
}


def path_of(scope: Scope) -> str:
    """The path of a request below the base path, under which a proxy serves the whole service."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path == SIGN_IN or path.startswith((f"{SIGN_IN}/", *_OPEN_BELOW))


def session_of(request: HTTPConnection) -> Session | None:
    """Who has signed in; None for a program, and where there is no key."""
    found: Session | None = request.scope.get(_SESSION)
    return found


def caller_of(request: HTTPConnection) -> Caller:
    """Who sends the request."""
    found: Caller = request.scope.get(_CALLER, ANYBODY)
    return found


async def is_still_known(request: HTTPConnection) -> bool:
    """Whether the key of a request that lasts long still opens it."""
    still: Callable[[], Awaitable[bool]] | None = request.scope.get(_STILL)
    return still is None or await still()


class RequireKey:
    """ASGI middleware: 401 without a key and without a session, 403 beyond their scope.

    A browser sends the cookie of a session whoever made it send the request. So a call that changes
    something needs the token of the session too: here in a header, in `pages.signing_in` in the
    form.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        callers: Callers,
        wrong_keys: WrongKeys,
        denials: WrongKeys,
        wrong_key_takes_s: float,
    ) -> None:
        self._app = app
        self._denials = denials
        self._callers = callers
        self._wrong_keys = wrong_keys
        self._wrong_key_takes_s = wrong_key_takes_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = await self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Response | None:
        offered = [key for key in _keys_in(Headers(scope=scope)) if key]
        cookie = HTTPConnection(scope).cookies.get(COOKIE, "")
        is_open = _is_open(path_of(scope))
        address = address_of(scope)
        if not is_open and any(self._wrong_keys.must_wait(address, key) for key in offered):
            return too_many_wrong_keys()
        try:
            session = await run_in_threadpool(self._callers.session_in, cookie) if cookie else None
            if is_open:
                scope[_SESSION] = session
                scope[IS_STRANGER] = True
                return None
            caller = await self._caller_with(offered)
            if caller is None and session is not None:
                caller = await run_in_threadpool(self._callers.of_session, session)
                scope[_SESSION] = session if caller else None
        except Unavailable as away:
            scope[IS_STRANGER] = True
            return None if is_open else unavailable(away, to_stranger=True)
        if caller is None:
            return await self._not_known(scope, has_key=bool(offered))
        scope[_CALLER] = caller
        scope[_STILL] = partial(self._is_known, offered, session)
        return await self._beyond_scope(scope, caller) or _without_token(scope)

    async def _is_known(self, offered: Sequence[str], session: Session | None) -> bool:
        """Whether the key still lasts; while PostgreSQL is away, nobody knows that it does not."""
        try:
            caller = await self._caller_with(offered)
            if caller is None and session is not None:
                caller = await run_in_threadpool(self._callers.of_session, session)
        except Unavailable:
            return True
        return caller is not None

    async def _caller_with(self, offered: Sequence[str]) -> Caller | None:
        for key in offered:
            caller = await run_in_threadpool(self._callers.of_key, key)
            if caller is not None:
                self._wrong_keys.was_right(key)
                return caller
        return None

    async def _not_known(self, scope: Scope, *, has_key: bool) -> Response:
        if has_key:
            await refused(self._callers, self._wrong_keys, scope, self._wrong_key_takes_s)
        asking = {"WWW-Authenticate": 'Bearer realm="uwsgi-tuner"'}
        return problem(401, DETAILS[401], headers=asking)

    async def _beyond_scope(self, scope: Scope, caller: Caller) -> Response | None:
        needed = scope_needed(scope["method"], path_of(scope))
        if caller.scope.includes(needed):
            return None
        what = f"{scope['method']} {path_of(scope)!r}"
        log.warning("%s may not %s", caller.name, what)
        if self._denials.is_worth_a_row(caller.key_name):
            await _deny(self._callers, caller.name, what)
        return problem(403, f"this needs a key of scope {needed}, and yours has {caller.scope}")


async def refused(callers: Callers, wrong_keys: WrongKeys, scope: Scope, takes_s: float) -> None:
    """Count a wrong key, write it into the log, and wait.

    The audit gets the first of a minute, and the last before its address has to wait.
    """
    address = address_of(scope)
    what = f"{scope['method']} {path_of(scope)!r}"
    log.warning("a wrong key from %s for %s", address, what)
    if wrong_keys.add(address):
        await _deny(callers, None, f"a wrong key from {address} for {what}")
    await asyncio.sleep(takes_s)


async def _deny(callers: Callers, by: str | None, what: str) -> None:
    """Write a denial into the audit; without PostgreSQL only the log has it."""
    with suppress(Unavailable):
        said = printable(what)[:MOST_SAID]
        await run_in_threadpool(callers.store.write_audit, by, Action.DENY, said)


def too_many_wrong_keys() -> Response:
    """The answer to any new key of an address that has sent many wrong ones."""
    said = "too many wrong keys came from your address: wait a minute"
    return problem(429, said, headers={"Retry-After": "60"})


def address_of(scope: Scope) -> str:
    """The address of the client; `?` where the server does not know it."""
    found: str = (scope.get("client") or ("?",))[0]
    return found


def _without_token(scope: Scope) -> Response | None:
    """For calls of a session that change something."""
    session: Session | None = scope.get(_SESSION)
    is_look = not path_of(scope).startswith(_CALLS) or scope["method"] in CHANGE_NOTHING
    if session is None or is_look or session.owns(Headers(scope=scope).get(TOKEN_HEADER, "")):
        return None
    return problem(403, f"with a session, this call needs its token in {TOKEN_HEADER}")


def _keys_in(headers: Headers) -> tuple[str, str]:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return headers.get("x-api-key", ""), token.strip() if kind.lower() == "bearer" else ""


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
            return (
                None
                if sender == host or self._is_of_proxy(sender)
                else "the Origin header names another site"
            )
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

    def _is_of_proxy(self, sender: str) -> bool:
        """Whether it is a name of ours at the port of its scheme, where a proxy serves us.

        At another port there is another service, and on the loopback too.
        """
        is_loopback = sender == "localhost" or sender.startswith("127.") or "[" in sender
        return ":" not in sender and not is_loopback and self._is_named(sender)

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
