"""What a form must show before it changes anything: the one place that looks at it.

`api.security` has refused already what lacks the key or comes from another site. Here a request has
to say where it comes from at all, as every browser does. With a session it has to show the token of
the session too, which only our own pages know.
"""

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from tuner.nouns.errors import InvalidInput
from tuner.service.api.parameters import body_of
from tuner.service.api.security import TOKEN_HEADER, session_of

TOKEN = "token"  # noqa: S105  the name of a field
_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 20


async def _fields(request: Request) -> Mapping[str, str]:
    if not {"origin", "sec-fetch-site"} & {*request.headers.keys()}:
        reason = "this is for forms of pages; a program sends the same to the calls below /v1"
        raise HTTPException(403, reason)
    kind = request.headers.get("content-type", _FORM).partition(";")[0].strip().lower()
    if kind != _FORM:
        raise HTTPException(415, f"send the form as {_FORM}")
    body = await body_of(request)
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
