"""What k6 is to do: the script of a load, k6's options, and how long a run may take."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from tuner.bench.load import contents
from tuner.bench.load.readiness import headers_of
from tuner.bench.measurement import RunningTarget
from tuner.nouns.model import (
    Burst,
    ClosedLoop,
    HttpRequest,
    Journey,
    Take,
    Target,
    UserData,
    connections,
)

REQUEST_TIMEOUT_S = 10.0
BEYOND_LIMIT_S = 5.0  # a user of a journey waits this long beyond the limit
SHORT_S = 10.0

K6Load = Burst | Journey | ClosedLoop


def request_timeout_s(load: K6Load) -> float:
    """The time-out of one request: in a burst, each user gives up at the limit."""
    match load:
        case Burst():
            return load.limit_s
        case Journey():
            return max(REQUEST_TIMEOUT_S, load.limit_s + BEYOND_LIMIT_S)
        case ClosedLoop():
            return REQUEST_TIMEOUT_S


def longest_s(load: K6Load, duration_s: float) -> float:
    """The length of a run in which every request is as slow as its time-out allows."""
    timeout_s = request_timeout_s(load)
    if isinstance(load, Burst):
        return timeout_s * len(load.requests) + SHORT_S
    return duration_s + timeout_s + SHORT_S


def script(load: K6Load, duration_s: float, running: RunningTarget, target: Target) -> str:
    """The whole script: the workload as one constant, and the code that sends it.

    All users share a constant of the script; each user would have its own copy of a file.
    """
    workload = {
        "options": options(load, duration_s),
        "order": "mix" if isinstance(load, ClosedLoop) else "journey",
        "length_ms": None if isinstance(load, Burst) else 1000 * duration_s,
        "timeout": _ms(request_timeout_s(load)),
        "weights": list(accumulate(request.weight for request in load.requests)),
        "rows": None if isinstance(load, ClosedLoop) else _rows(load.user_data),
        **_requests(load.requests, running.front.port, target),
    }
    return f"const LOAD = {json.dumps(workload)};\n\n{_code()}"


def options(load: K6Load, duration_s: float) -> dict[str, Any]:
    """k6's options: when users send. Each request has its own connection unless kept alive."""
    rest_s = longest_s(load, duration_s) - duration_s
    if isinstance(load, Burst):
        sending: dict[str, Any] = {
            "executor": "per-vu-iterations",
            "vus": load.users,
            "iterations": 1,
            "maxDuration": _ms(longest_s(load, 0)),
            "gracefulStop": "0s",
        }
    else:
        users = connections(load)
        sending = {
            # A constant number of users: `constant-vus` refuses less than a second.
            "executor": "ramping-vus",
            "startVUs": users,
            "stages": [{"duration": _ms(duration_s), "target": users}],
            "gracefulStop": _ms(rest_s),  # until the requests in flight are answered
        }
    return {
        "scenarios": {"load": sending},
        "noConnectionReuse": not (isinstance(load, ClosedLoop) and load.keep_alive),
        "discardResponseBodies": True,
        "systemTags": [],  # no metric is used
    }


def _requests(requests: Sequence[HttpRequest], port: int, target: Target) -> dict[str, list[Any]]:
    """Column by column: a thousand objects for each of a thousand users would take a gigabyte."""
    shapes: list[tuple[Mapping[str, str], bool]] = []
    of_requests = []
    for request in requests:
        reads_body = any(take.json_ or take.regex for take in request.take.values())
        shape = headers_of(request, port, target), reads_body
        if shape not in shapes:
            shapes.append(shape)
        of_requests.append(shapes.index(shape))
    origin = f"http://127.0.0.1:{port}"
    paths = [contents.path_of(request) for request in requests]
    return {
        "urls": [origin + path if isinstance(path, str) else [origin, *path] for path in paths],
        "methods": [request.method for request in requests],
        "bodies": [contents.body_of(request) for request in requests],
        "expects": [request.expect for request in requests],
        "takes": [_takes(request) for request in requests],
        "shapes": of_requests,
        "headers": [
            {name: contents.header_of(value) for name, value in headers.items()}
            for headers, _ in shapes
        ],
        "reads": [reads_body for _, reads_body in shapes],
    }


def _takes(request: HttpRequest) -> list[list[Any]] | None:
    """Name, kind of place and place of each value; None: the request takes nothing."""
    return [[name, *_place(take)] for name, take in request.take.items()] or None


def _place(take: Take) -> tuple[str, Any]:
    if take.json_ is not None:
        return "json", re.findall(r"[^.\[\]]+", take.json_.removeprefix("$"))
    if take.header is not None:  # Go writes the names of headers in this way
        return "header", "-".join(part.capitalize() for part in take.header.split("-"))
    return ("regex", take.regex) if take.regex is not None else ("cookie", take.cookie)


def _rows(data: UserData | None) -> str | None:
    """The rows as one text: a constant that all users share."""
    if data is None:
        return None
    return json.dumps([dict(zip(data.names, row, strict=True)) for row in data.rows])


@cache
def _code() -> str:
    return files("tuner.bench.load").joinpath("script.js").read_text(encoding="utf-8")


def _ms(seconds: float) -> str:
    return f"{round(1000 * seconds)}ms"
