"""A template → an answer: its headers, its tag, its size on the wire."""

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import Request, Response

from tuner.nouns.model import Scope
from tuner.service.api.conditional import kept_by, unchanged
from tuner.service.api.security import SHARED, caller_of, path_of, session_of
from tuner.service.pages.assets import address_of
from tuner.service.pages.templating import environment

PROGRAM = version("uwsgi-tuner")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without any, a browser would send a form's Origin as null
    "Vary": "Accept, Accept-Encoding, Cookie",
}
_WORTH_PACKING = 1_000  # bytes


@cache
def edition() -> str:
    """Names what writes these pages: another edition may write the same rows in other words."""
    found = hashlib.sha256(PROGRAM.encode())
    for path in sorted(Path(__file__).parent.rglob("*.*")):
        if path.suffix in (".py", ".j2", ".js", ".css"):
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


def base_of(request: Request) -> str:
    """The path below which the service is served; empty for none."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def seen_at(request: Request) -> str:
    """Scheme and host of the service as the browser names them; a proxy may use others."""
    return request.headers.get("origin") or f"{request.url.scheme}://{request.url.netloc}"


def is_shared(request: Request) -> bool:
    """Whether the reader has a link to one job, and nothing else."""
    return path_of(request.scope).startswith(SHARED)


def rendered(request: Request, template: str, **context: Any) -> str:
    """The text of a page. `at` in it makes addresses, `asset` those of files.

    `session` is the reader's, `may_submit` whether it may change something, `may_change` whether an
    app, `has_key` whether the service asks for a key.
    """
    base, caller = base_of(request), caller_of(request)
    return (
        environment()
        .get_template(template)
        .render(
            at=lambda path: f"{base}{path}",
            asset=lambda name: f"{base}{address_of(name)}",
            program=PROGRAM,
            session=session_of(request),
            may_submit=caller.scope.includes(Scope.SUBMIT),
            may_change=caller.may_change,
            has_key=request.app.state.services.api_key is not None,
            shared=is_shared(request),
            **context,
        )
    )


def page(request: Request, template: str, *, tag: str | None = None, **context: Any) -> Response:
    """A page with its tag; 304 where the browser has it. Default: the hash of its text."""
    text = rendered(request, template, **context)
    tag = tag or f'W/"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
    if unchanged(request, tag):
        return not_modified(tag)
    return packed(request, text, "text/html", kept_by(tag))


def not_modified(tag: str) -> Response:
    """The browser has this page already."""
    return Response(status_code=304, headers={**HEADERS, **kept_by(tag)})


def packed(
    request: Request,
    text: str,
    media_type: str,
    headers: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    """A text, compressed where the browser takes that."""
    content, sent = text.encode(), {**HEADERS, **(headers or {})}
    if is_shared(request):
        sent["X-Robots-Tag"] = "noindex"
    if len(content) > _WORTH_PACKING and "gzip" in request.headers.get("accept-encoding", ""):
        content = gzip.compress(content, 5, mtime=0)
        sent["Content-Encoding"] = "gzip"
    return Response(content, status, sent, media_type=media_type)
