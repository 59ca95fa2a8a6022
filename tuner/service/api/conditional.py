"""ETag and If-None-Match: a caller that has the current answer gets 304 and no body.

A tag made here is a hash of the body, so it is strong: equal tags mean equal bytes.
"""

import hashlib
from collections.abc import Mapping

from fastapi import Request, Response
from pydantic import BaseModel


def conditional(
    request: Request, body: str, media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The body with its tag, or 304 if the caller has it already."""
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
    """A JSON answer with a tag that the caller of this function knows."""
    return Response(answer.model_dump_json(), headers=kept_by(tag), media_type="application/json")


def kept_by(tag: str) -> dict[str, str]:
    """Headers of an answer with a tag: a cache keeps it and asks before it uses it again."""
    return {"ETag": tag, "Cache-Control": "no-cache"}


def unchanged(request: Request, tag: str) -> bool:
    """Whether If-None-Match names this tag. Weak and strong tags compare alike."""
    offered = request.headers.get("if-none-match", "").split(",")
    plain = tag.removeprefix("W/")
    return any(part.strip().removeprefix("W/") in (plain, "*") for part in offered)
