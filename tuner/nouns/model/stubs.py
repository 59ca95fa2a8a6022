"""A stub: what stands in for an API outside, which an arm's network cannot reach."""

import json
import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, model_validator

from tuner.nouns.model.base import Document
from tuner.nouns.model.http_requests import HeaderName, HeaderValue

STUB_MB = 64
"""It uses 13 MB at rest, and 25 MB with 300 open TLS connections."""
STUB_CPUS = 0.25
"""More than 1 000 requests/s."""

_Z95 = 1.6448536269514722  # the standard normal distribution's p95
_MOST_BODY = 200_000  # characters
_OURS = frozenset({"connection", "content-length", "transfer-encoding"})

Host = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,62}(\.[a-z0-9-]{1,63})*)$")]
Milliseconds = Annotated[float, Field(ge=0, le=60_000)]


class Scheme(StrEnum):
    """What a port of a stub speaks."""

    HTTP = "http"
    HTTPS = "https"


class Latency(Document):
    """A lognormal distribution by two of its percentiles."""

    p50: Milliseconds = Field(gt=0, description="half of the requests wait no longer")
    p95: Milliseconds = Field(gt=0, description="95 of 100 requests wait no longer")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.p95 < self.p50:
            raise ValueError("p95 is below p50")
        return self

    @property
    def sigma(self) -> float:
        """The standard deviation of the logarithm."""
        return math.log(self.p95 / self.p50) / _Z95


def _not_a_name(body: Any) -> Any:
    """`named_files` has replaced the name of a file where there is a folder to read from."""
    match body:
        case {"file": str(name), **others} if not others:
            raise ValueError(f"{name}: a request has no folder to read it from; give its text")
        case _:
            return body


def _fits(body: JsonValue) -> JsonValue:
    if len(text_of(body)) > _MOST_BODY:
        raise ValueError(f"has more than {_MOST_BODY} characters")
    return body


def text_of(body: JsonValue) -> str:
    """A body as it is sent: a text as it is, anything else as JSON; nothing for null."""
    if body is None:
        return ""
    return body if isinstance(body, str) else json.dumps(body)


def _is_a_pattern(path: str) -> str:
    if not path.startswith("/") or {"?", "#"} & {*path} or "*" in path[:-1]:
        raise ValueError("give /a/path without a query; * is for its end only: /a/*")
    return path


class Response(Document):
    """The answer to requests with one path and method."""

    path: Annotated[str, Field(max_length=2000), AfterValidator(_is_a_pattern)] = Field(
        description="without its query; /v1/charge is this path alone, /v1/* all that begin so"
    )
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] | None = Field(
        None, description="null: any; GET answers HEAD too"
    )
    status: int = Field(200, ge=200, le=599, description="HTTP status")
    headers: dict[HeaderName, HeaderValue] = Field({}, max_length=50, description="by name")
    body: Annotated[JsonValue, BeforeValidator(_not_a_name), AfterValidator(_fits)] = Field(
        None, description="a text, JSON, or {file: name} beside target.yaml"
    )

    @model_validator(mode="after")
    def _leaves_length_to_us(self) -> Self:
        if ours := sorted(_OURS & {name.lower() for name in self.headers}):
            raise ValueError(f"headers: the stub sends {', '.join(ours)} itself")
        return self

    @property
    def all_headers(self) -> Mapping[str, str]:
        """With the media type, if the user gave none."""
        if not (text := text_of(self.body)) or "content-type" in map(str.lower, self.headers):
            return self.headers
        return {"Content-Type": _media_type(self.body, text), **self.headers}


def _media_type(body: JsonValue, text: str) -> str:
    """The media type of a body; JSON also where it is the text of a file."""
    try:
        json.loads(text) if isinstance(body, str) else None
    except ValueError:
        return "text/plain; charset=utf-8"
    return "application/json"


class Stub(Document):
    """An API outside, with how long it takes and what it answers."""

    hosts: tuple[Host, ...] = Field(
        (), max_length=20, description="names that the app looks up; the service's own works too"
    )
    latency_ms: Milliseconds | Latency = Field(
        0.0, description="from a whole request to its answer: a number, or {p50, p95}, lognormal"
    )
    responses: tuple[Response, ...] = Field(
        (), max_length=200, description="the first that matches; 404 if none does"
    )
    ports: dict[Annotated[int, Field(ge=1, le=65_535)], Scheme] = Field(
        {80: Scheme.HTTP, 443: Scheme.HTTPS},
        min_length=1,
        max_length=10,
        description="http or https by port",
    )
