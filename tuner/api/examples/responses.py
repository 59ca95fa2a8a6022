"""What OpenAPI is told of an answer and of a body, given an example of it."""

from typing import Any

from pydantic import BaseModel

Responses = dict[int | str, dict[str, Any]]


def ok(example: Any, description: str = "OK", model: type[BaseModel] | None = None) -> Responses:
    """A 200 with a JSON example; `model` only where it is not the endpoint's main answer."""
    return {200: _json(example, description) | ({"model": model} if model else {})}


def created(example: Any) -> Responses:
    """A 201 with a JSON example and its Location."""
    location = {"description": "where it is", "schema": {"type": "string"}}
    return {201: _json(example, "it was accepted") | {"headers": {"Location": location}}}


def text(example: str, media_type: str = "text/plain") -> Responses:
    """A 200 with a text example; YAML is text to who sends it, and a document to who reads it."""
    is_yaml = media_type == "application/yaml"
    schema = {"description": "a YAML document"} if is_yaml else {"type": "string"}
    content = {media_type: {"schema": schema, "example": example}}
    return {200: {"description": "OK", "content": content}}


def body(model: str, example: Any) -> dict[str, Any]:
    """The request body of a call, which we read ourselves."""
    schema = {"$ref": f"#/components/schemas/{model}"}
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


def _json(example: Any, description: str) -> dict[str, Any]:
    _kept.append(example)
    content = {"application/json": {"example": len(_kept) - 1}}
    return {"description": description, "content": content}


def restore(document: dict[str, Any]) -> None:
    """Put the JSON examples into a finished OpenAPI document.

    FastAPI drops every null from what it is given, also inside examples.
    """
    for operations in document["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                content = response.get("content", {}).get("application/json")
                if content is not None:
                    content["example"] = _kept[content["example"]]


_kept: list[Any] = []


NOT_MODIFIED: Responses = {304: {"description": "what If-None-Match names is still current"}}
