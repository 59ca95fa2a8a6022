"""A template to an answer: its headers, its tag, its size on the wire; and the files it loads."""

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from jinja2 import Environment, PackageLoader

from tuner.nouns import wording
from tuner.nouns.errors import NotFound
from tuner.nouns.model import Checker, Metric, Scope, Verdict
from tuner.service.api.parameters import kept_by, unchanged
from tuner.service.api.security import SHARED, caller_of, path_of, session_of
from tuner.show import evidence
from tuner.show.evidence import Section, tables_in

# ---- The files that pages load: our own and those of others, all within the package
#
# The address of a file has a part of its hash, so that a browser asks for it once.

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


# ---- The templates, which escape every text, and what they may use

MOST_ROWS = 50
"""Rows of a table within a page; the page of the table has the others."""

MARKS = {
    Verdict.BETTER: "▲",
    Verdict.WORSE: "▼",
    Verdict.BREAKS_BOUND: "✕",
    Verdict.NO_DIFFERENCE: "=",
    Verdict.INCONCLUSIVE: "?",
    Verdict.DEPENDS: "◇",
    Verdict.MORE_FRAGILE: "!",
}
"""Beside the colour of a verdict, which not every reader can tell."""


CHECKS = {
    (Checker.RECOMMEND, True): "The deployed file has the recommended effect",
    (Checker.RECOMMEND, False): "The deployed file has another effect",
    (Checker.GATE, True): "The recommended file holds on a new image",
    (Checker.GATE, False): "The recommended file does not hold on a new image",
}
"""What a checker found, by whether what is deployed holds."""


@cache
def environment() -> Environment:
    """The templates, and those of reports: both show parts of documents alike."""
    found = evidence.environment(PackageLoader("tuner.service.pages"), most_rows=MOST_ROWS)
    ours: dict[str, Callable[..., object]] = {
        "utc": _utc,
        "quoted": lambda text: quote(str(text), safe=""),
        "has_table": lambda section: bool(tables_in(section.parts)),
        "slug": slug,
        "hashed": hashed,
    }
    found.filters |= ours
    found.globals |= {"wording": wording, "marks": MARKS, "metrics": Metric}
    found.globals |= {"words_of_checks": CHECKS}
    return found


def slug(section: Section) -> str:
    """The name of a section in addresses and anchors: `the-race`."""
    letters = (letter if letter.isalnum() else " " for letter in section.title.lower())
    return "-".join("".join(letters).split())


def hashed(text: str) -> str:
    """Tells whether a part has changed: parts that have not stay as the reader left them."""
    return hashlib.sha256(str(text).encode()).hexdigest()[:16]


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


# ---- A template → an answer: its headers, its tag, its size on the wire

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
