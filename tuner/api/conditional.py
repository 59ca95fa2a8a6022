"""ETag and If-None-Match: who asks again for what has not changed gets 304 and no body.

A tag made here is a hash of the body, so it is a strong one: equal tags mean equal bytes.
"""

import hashlib
from collections.abc import Mapping

from fastapi import Request, Response
from pydantic import BaseModel


def conditional(
    request: Request, body: str, media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The body with its tag, or 304 where the caller has it already."""
    content = body.encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    kept = {**kept_by(tag), **(headers or {})}
    if unchanged(request, tag):
        return Response(status_code=304, headers=kept)
    return Response(content, headers=kept, media_type=media_type)


def conditional_json(request: Request, answer: BaseModel) -> Response:
    """The same for a JSON answer."""
    return conditional(request, answer.model_dump_json(), "application/json")


def tagged(answer: BaseModel, tag: str) -> Response:
    """A JSON answer under a tag that was known before it was made."""
    return Response(answer.model_dump_json(), headers=kept_by(tag), media_type="application/json")


def kept_by(tag: str) -> dict[str, str]:
    """Headers of whatever goes out under a tag: keep it, and ask before using it again."""
    return {"ETag": tag, "Cache-Control": "no-cache"}


def unchanged(request: Request, tag: str) -> bool:
    """Whether the caller's If-None-Match names this tag; weak and strong ones compare alike."""
    offered = request.headers.get("if-none-match", "").split(",")
    plain = tag.removeprefix("W/")
    return any(part.strip().removeprefix("W/") in (plain, "*") for part in offered)
