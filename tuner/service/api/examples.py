"""What OpenAPI shows: the examples of `examples.yaml`, each under the name of its model."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

Responses = dict[int | str, dict[str, Any]]

JSON = "application/json"
NOT_MODIFIED: Responses = {304: {"description": "the answer that If-None-Match names is current"}}


@cache
def known() -> dict[str, Any]:
    """All examples."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
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
    references = [reference(model) for model in models]
    schema = references[0] if len(models) == 1 else {"oneOf": references}
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def reference(model: str) -> dict[str, str]:
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
