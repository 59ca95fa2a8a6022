"""The files that pages load: our own and those of others, all within the package.

The address of a file has a part of its hash, so that a browser asks for it once.
"""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter, Request, Response

from tuner.nouns.errors import NotFound
from tuner.show import evidence

router = APIRouter()

_FOREVER = "public, max-age=31536000, immutable"
_MEDIA = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent: plain, and compressed."""

    media_type: str
    plain: bytes
    packed: bytes
    version: str


@cache
def assets() -> Mapping[str, Asset]:
    """All files by name. The one style sheet has the styles of reports, charts and plots too."""
    own = files("tuner.service.pages").joinpath("static")
    found = {
        file.name: file.read_bytes()
        for folder in (own, own.joinpath("vendor"))
        for file in folder.iterdir()
        if PurePath(file.name).suffix in _MEDIA
    }
    sheets = (evidence.stylesheet().encode(), found.pop("uPlot.min.css"), found["page.css"])
    found["page.css"] = b"\n".join(sheets)
    return {name: _asset(name, content) for name, content in found.items()}


def _asset(name: str, content: bytes) -> Asset:
    digest = hashlib.sha256(content).hexdigest()[:16]
    media_type = _MEDIA[PurePath(name).suffix]
    return Asset(media_type, content, gzip.compress(content, mtime=0), digest)


def address_of(name: str) -> str:
    """The address of a file below the base path."""
    return f"/static/{name}?v={assets()[name].version}"


@router.get("/static/{name}")
async def asset(name: str, request: Request, v: str = "") -> Response:
    """One of the files."""
    found = assets().get(name)
    if found is None:
        raise NotFound(f"there is no file {name!r} for pages")
    headers = {
        "Cache-Control": _FOREVER if v == found.version else "no-cache",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(found.plain, headers=headers, media_type=found.media_type)
    headers["Content-Encoding"] = "gzip"
    return Response(found.packed, headers=headers, media_type=found.media_type)
