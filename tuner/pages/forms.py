"""What a form must show before it changes anything: the one place that looks at it.

`api.security` has refused already what lacks the key or comes from another site. Here a request has
to say where it comes from at all, as every browser does. The token of a session will be checked
here too, once there are sessions.
"""

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from tuner.api.parameters import body_of
from tuner.errors import InvalidInput

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 20


async def _form(request: Request) -> Mapping[str, str]:
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


Form = Annotated[Mapping[str, str], Depends(_form)]
"""The fields of a form that one of our own pages sent."""
