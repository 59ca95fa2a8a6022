"""/docs: all calls on one page, from the OpenAPI document. It loads nothing, from anywhere."""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

router = APIRouter(include_in_schema=False)

STYLE = """
:root{color-scheme:light dark}
body{max-width:60rem;margin:0 auto;padding:2rem 1rem;font:16px/1.5 system-ui,sans-serif}
article{border-top:1px solid #8886;padding:.5rem 0}
h3{font-size:1rem;margin:.5rem 0}
code,pre{font:.9em/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
pre{overflow-x:auto;padding:.75rem;border:1px solid #8886;border-radius:6px}
table{border-collapse:collapse;width:100%}
td{vertical-align:top;padding:.2rem .75rem .2rem 0}
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call as the page shows it; `parameters` and `answers` are rows of texts."""

    method: str
    path: str
    about: str
    parameters: tuple[tuple[str, str, str], ...]
    request: str | None
    answers: tuple[tuple[str, str, str | None], ...]


@router.get("/docs")
def reference(request: Request) -> HTMLResponse:
    """All calls, with their parameters and an example of each answer."""
    document = request.app.openapi()
    groups: dict[str, list[Call]] = {}
    for tag, call in _calls(document):
        groups.setdefault(tag, []).append(call)
    page = _template().render(about=document["info"], groups=groups, style=STYLE)
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})


@cache
def _template() -> Any:
    loader = PackageLoader("tuner.service.api")
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return found.get_template("reference.html.j2")


def _calls(document: dict[str, Any]) -> Iterator[tuple[str, Call]]:
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            about = call.get("description") or call.get("summary", "")
            asked = tuple(
                (found["name"], found["in"], found.get("description", ""))
                for found in call.get("parameters", ())
            )
            answers = tuple(
                (status, answer.get("description", ""), _example(answer))
                for status, answer in sorted(call["responses"].items())
            )
            request = _example(call.get("requestBody", {}))
            tag = call.get("tags", ["health"])[0]
            yield tag, Call(method.upper(), path, about, asked, request, answers)


def _example(described: dict[str, Any]) -> str | None:
    """The first example of a body as text; None where there is none."""
    for content in described.get("content", {}).values():
        named = [example.get("value") for example in content.get("examples", {}).values()]
        for found in (content.get("example"), *named):
            if found is not None:
                return found if isinstance(found, str) else json.dumps(found, indent=2)
    return None
