"""Signing in and out, and what a form must show before it changes anything."""

import re
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from tuner.nouns.errors import InvalidInput, NotFound
from tuner.nouns.model import MOST_SAID, Action, printable
from tuner.service.api.callers import (
    COOKIE,
    FLOW_COOKIE,
    FLOW_LASTS_S,
    LASTS_S,
    SIGN_IN,
    SIGN_OUT,
    new_session,
    session_of_person,
)
from tuner.service.api.parameters import MAX_BODY_BYTES, body_of
from tuner.service.api.provider import NotLetIn, Person, ProviderFile
from tuner.service.api.security import TOKEN_HEADER, address_of, path_of, refused, session_of
from tuner.service.api.services import Wired
from tuner.service.pages.answering import base_of, packed, rendered, seen_at

# ---- What a form must show before it changes anything: the one place that looks at it
#
# `api.security` has refused already what lacks the key or comes from another site. Here a request
# has to say where it comes from at all, as every browser does. With a session it has to show the
# token of the session too, which only our own pages know.

TOKEN = "token"  # noqa: S105  the name of a field
_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 20
_SIGN_IN_BYTES = 16_000


async def _fields(request: Request) -> Mapping[str, str]:
    if not {"origin", "sec-fetch-site"} & {*request.headers.keys()}:
        reason = "this is for forms of pages; a program sends the same to the calls below /v1"
        raise HTTPException(403, reason)
    kind = request.headers.get("content-type", _FORM).partition(";")[0].strip().lower()
    if kind != _FORM:
        raise HTTPException(415, f"send the form as {_FORM}")
    is_open = path_of(request.scope) == SIGN_IN  # to everybody
    body = await body_of(request, _SIGN_IN_BYTES if is_open else MAX_BODY_BYTES)
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise InvalidInput.at("", f"the form cannot be read: {error}") from None
    return dict(fields)


Fields = Annotated[Mapping[str, str], Depends(_fields)]
"""The fields of a form that changes nothing which a session may change."""


async def _form(request: Request, fields: Fields) -> Mapping[str, str]:
    session = session_of(request)
    offered = fields.get(TOKEN) or request.headers.get(TOKEN_HEADER, "")
    if session is not None and not session.owns(offered):
        reason = "this form is not of your present session: open its page again, and send it anew"
        raise HTTPException(403, reason)
    return {name: value for name, value in fields.items() if name != TOKEN}


Form = Annotated[Mapping[str, str], Depends(_form)]
"""The fields of a form that a page of the reader's own session sent."""


# ---- Signing in: the key in a form becomes a session of this browser. Signing out ends it

router = APIRouter()

_LONGEST_NAME = 60
_OWN_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]{0,2000}")
"""Printable ASCII without a backslash: browsers read that, and two slashes, as another host."""

Next = Annotated[str, Query(alias="next")]


@router.get(SIGN_IN)
def form(request: Request, services: Wired, then: Next = "") -> Response:
    """The form; without a key there is nothing to sign in to."""
    if services.callers is None:
        return _moved(request, _own(then))
    return ask(request, _own(then), status=200)


@router.post(SIGN_IN)
async def sign_in(request: Request, fields: Fields, services: Wired) -> Response:
    """A session, and back to the page that was asked for. A wrong key waits for its answer."""
    then, callers = _own(fields.get("next", "")), services.callers
    if callers is None:
        return _moved(request, then)
    key = fields.get("key", "").strip()
    if services.wrong_keys.must_wait(address_of(request.scope), key):
        return ask(request, then, "Too many wrong keys came from your address. Wait a minute.", 429)
    caller = await run_in_threadpool(callers.of_key, key)
    if caller is None:
        await refused(callers, services.wrong_keys, request.scope, services.wrong_key_takes_s)
        return ask(request, then, "This is not a key of this service.")
    services.wrong_keys.was_right(key)
    address = address_of(request.scope)
    name = printable(" ".join(fields.get("name", "").split())[:_LONGEST_NAME])
    seen = caller.seen_as(name).name
    await run_in_threadpool(services.store.write_audit, seen, Action.SIGN_IN, f"from {address}")
    cookie = await run_in_threadpool(callers.signed, new_session(name, caller.key))
    return _with_cookie(_moved(request, then), request, COOKIE, cookie, LASTS_S)


# ---- ... or the identity provider says who somebody is, and what groups they are in

TO_PROVIDER, BACK = f"{SIGN_IN}/provider", f"{SIGN_IN}/back"


@router.get(TO_PROVIDER)
def to_provider(request: Request, services: Wired, then: Next = "") -> Response:
    """To the provider, which leads back to `BACK`. What it must lead back with is in a cookie."""
    callers, provider = services.callers, services.provider
    if callers is None or provider is None:
        raise NotFound("this service knows no identity provider")
    address, flow = provider.begin(_back(request), _own(then))
    answer = RedirectResponse(address, status_code=303)
    return _with_cookie(answer, request, FLOW_COOKIE, callers.signed_flow(flow), FLOW_LASTS_S)


@router.get(BACK)
def back(request: Request, services: Wired) -> Response:
    """From the provider: a session with the rights of the groups, or why there is none."""
    callers, provider = services.callers, services.provider
    if callers is None or provider is None:
        raise NotFound("this service knows no identity provider")
    flow = callers.flow_in(request.cookies.get(FLOW_COOKIE, ""))
    if flow is None:
        return ask(request, "/", "This sign-in has ended, or began elsewhere. Begin again.", 403)
    address = f"from {address_of(request.scope)}"
    try:
        person = provider.finish(flow, _back(request), dict(request.query_params))
    except NotLetIn as refusal:
        services.store.write_audit(None, Action.DENY, f"{refusal}, {address}"[:MOST_SAID])
        return ask(request, flow.then, f"{refusal}.", 403)
    if person.rights is None:
        services.store.write_audit(person.name, Action.DENY, f"no group opens it, {address}")
        return ask(request, flow.then, _without_group(person, provider.file), 403)
    services.store.write_audit(person.name, Action.SIGN_IN, f"{provider.file.issuer}, {address}")
    cookie = callers.signed(session_of_person(person, person.rights))
    answer = _with_cookie(_moved(request, flow.then), request, COOKIE, cookie, LASTS_S)
    answer.delete_cookie(FLOW_COOKIE, path=_path_of_cookie(request), httponly=True, samesite="lax")
    return answer


def _without_group(person: Person, file: ProviderFile) -> str:
    """What to ask for."""
    own = f"your groups are {', '.join(person.groups)}" if person.groups else "you are in no group"
    others = ", ".join(file.groups)
    return (
        f"You are {person.name} at {file.issuer}, and {own}. None of them opens this service. Ask"
        f" whoever manages your groups to put you into one of: {others}."
    )


def _back(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}{base_of(request)}{BACK}"


def _with_cookie(
    answer: Response, request: Request, name: str, value: str, lasts_s: int
) -> Response:
    """A cookie that no script reads, and that is sent over https only where we are there."""
    answer.set_cookie(
        name,
        value,
        max_age=lasts_s,
        path=_path_of_cookie(request),
        secure=seen_at(request).startswith("https:"),
        httponly=True,
        samesite="lax",
    )
    return answer


@router.post(SIGN_OUT)
def sign_out(request: Request, fields: Form) -> Response:
    """Forget the session in this browser."""
    answer = _moved(request, SIGN_IN)
    answer.delete_cookie(COOKIE, path=_path_of_cookie(request), httponly=True, samesite="lax")
    return answer


def ask(
    request: Request,
    then: str,
    refusal: str | None = None,
    status: int = 401,
    *,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The form as an answer. `then` is the path to go to afterwards."""
    provider = request.app.state.services.provider
    text = rendered(
        request,
        "sign_in.html.j2",
        then=then,
        refusal=refusal,
        hours=LASTS_S // 3600,
        provider=provider.file if provider else None,
    )
    sent = {"Cache-Control": "no-store", **(headers or {})}
    return packed(request, text, "text/html", sent, status)


def ask_first(request: Request, headers: Mapping[str, str]) -> Response:
    """The form in place of a page that needs a session."""
    ended = "Your session has ended. Sign in again." if COOKIE in request.cookies else None
    then = "/"
    if request.method == "GET":
        query = request.url.query
        then = _own(quote(path_of(request.scope)) + (f"?{query}" if query else ""))
    return ask(request, then, ended, headers=headers)


def _own(path: str) -> str:
    """The path if it leads to this service, else the first page."""
    return path if _OWN_PATH.fullmatch(path) else "/"


def _moved(request: Request, path: str) -> RedirectResponse:
    return RedirectResponse(f"{base_of(request)}{path}", status_code=303)


def _path_of_cookie(request: Request) -> str:
    return base_of(request) or "/"
