"""/docs: all calls on one page, from the OpenAPI document, with examples."""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel

# ---- What OpenAPI shows: the examples of `examples.yaml`, each under the name of its model

Responses = dict[int | str, dict[str, Any]]

JSON = "application/json"
NOT_MODIFIED: Responses = {304: {"description": "the answer that If-None-Match names is current"}}


@cache
def known() -> dict[str, Any]:
    """All examples."""
    text = Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def created(model: type[BaseModel]) -> Responses:
    """201 with a Location, and 200 for the job of an earlier request."""
    location = {"description": "address of the job", "schema": {"type": "string"}}
    earlier = "an earlier request made the job: one with this key, or with go_on an equal one"
    return {
        201: {"description": "the job is queued", "headers": {"Location": location}},
        200: {"description": earlier, "model": model},
    }


def text(name: str, media_type: str = "text/plain") -> Responses:
    """200 with a text. A client sends YAML as a text and reads it as a document."""
    is_yaml = media_type == "application/yaml"
    schema = {"description": "a YAML document"} if is_yaml else {"type": "string"}
    content = {media_type: {"schema": schema, "example": known()[name]}}
    return {200: {"description": "OK", "content": content}}


def texts(**names: str) -> Responses:
    """200 with one of several texts: media types by the name of the example."""
    content: dict[str, Any] = {}
    for name, media_type in names.items():
        content |= text(name, media_type)[200]["content"]
    return {200: {"description": "OK", "content": content}}


def body(*models: str) -> dict[str, Any]:
    """The request body of a call. The API reads it itself, so FastAPI knows nothing of it."""
    references = [schema_reference(model) for model in models]
    schema = references[0] if len(models) == 1 else {"oneOf": references}
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def schema_reference(model: str) -> dict[str, str]:
    """The schema of a model that the document has."""
    return {"$ref": f"#/components/schemas/{model}"}


def add_to(document: dict[str, Any]) -> None:
    """Give each JSON content of a finished OpenAPI document the example of its model.

    FastAPI would drop the nulls of an example.
    """
    for operations in document["paths"].values():
        for operation in operations.values():
            answers = [*operation["responses"].values(), operation.get("requestBody", {})]
            for content in (answer.get("content", {}).get(JSON) for answer in answers):
                if content is not None:
                    content["example"] = known()[_model_of(content["schema"])]


def _model_of(schema: dict[str, Any]) -> str:
    """The name of the model; of several, the first one."""
    first = next((schema[one][0] for one in ("oneOf", "anyOf") if one in schema), schema)
    return str(first["$ref"].rpartition("/")[2])


# ---- /docs: all calls on one page, from the OpenAPI document. It loads nothing, from anywhere

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
