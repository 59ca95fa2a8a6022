"""A file of URLs in place of a list of requests: `requests: {file: urls.txt}`.

Each line is one request: a path or a whole URL, with a method before it unless that is GET. The
scheme and host of a URL are dropped. Empty lines and lines that begin with `#` are skipped.

    /timetable?week=12
    https://example.org/login
    POST /login
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

_LINE = re.compile(
    r"(?:(?P<method>[A-Za-z]+)\s+)?(?P<host>[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]*)?(?P<path>\S*)"
)
_IN_ORDER = (
    "burst",
    "journey",
)  # here each line is a step; in other workloads the order means nothing
_MOST = 1000  # of a weight


def expanded(document: Any, read: Callable[[str], str]) -> Any:
    """The document of a job or a target; the requests of its file replace the file's name.

    `read` returns the text of a file. Any other document is returned unchanged: validation then
    reports its mistakes. Raises `ValueError` if a file cannot be read or a line is not a request.
    """
    match document:
        case {"workload": {"requests": {"file": str(name), **others}} as workload} if not others:
            found = _read(name, read)
        case _:
            return document
    if workload.get("kind", "closed_loop") not in _IN_ORDER:
        found = weighted(found)
    return {**document, "workload": {**workload, "requests": found}}


def _read(name: str, read: Callable[[str], str]) -> list[dict[str, Any]]:
    try:
        return parse(read(name))
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror or 'cannot be read'}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: is not UTF-8 text") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def parse(text: str) -> list[dict[str, Any]]:
    """A request for each line, in order. Raises `ValueError` with the number of a wrong line."""
    found = []
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        match = _LINE.fullmatch(words)
        if match is None:
            raise ValueError(f"line {number} is not a path or URL with a method before it")
        path = match["path"].partition("#")[0]  # a fragment is never sent
        if match["host"] and not path.startswith("/"):  # https://example.org?a=1
            path = f"/{path}"
        if not path.startswith("/"):
            raise ValueError(f"line {number}: a path starts with '/', as in '/{path}'")
        request = {"path": path}
        if match["method"]:
            request["method"] = match["method"].upper()
        found.append(request)
    if not found:
        raise ValueError("the file holds no request")
    return found


def weighted(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each request once; its weight is its number of lines, scaled down if that is above 1000."""
    counts = Counter(tuple(request.items()) for request in requests)
    scale = min(1.0, _MOST / max(counts.values(), default=1))
    return [
        {**dict(request), "weight": max(1, round(scale * number))}
        for request, number in counts.items()
    ]
