"""Files that a document names: their content replaces their names.

A file of URLs stands for a list of requests: `requests: {file: urls.txt}`. Each line is one
request: a path or a whole URL, with a method before it unless that is GET. The scheme and host of a
URL are dropped. Empty lines and lines that begin with `#` are skipped.

    /timetable?week=12
    https://example.org/login
    POST /login

`user_data: {file: users.csv}` of a journey is a table: a header line, then a row for each user.

`baseline: {ini: {file: uwsgi.ini}}` is the text of that file, as are `ini: {file: more.ini}` of a
comparison's `arms`, `files: {/srv/app/local.py: {file: local.py}}` and the `body` of a stub's
response.

An `env_file`, or a list of them, adds to `env`, as in Compose: the later file counts, and `env`
before all. Services have both too.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from dotenv import dotenv_values

from tuner.nouns.model.http_requests import MOST_ROWS, MOST_ROWS_BYTES
from tuner.nouns.model.needs import pairs

_LINE = re.compile(
    r"(?:(?P<method>[A-Za-z]+)\s+)?(?P<host>[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s]*)?(?P<path>\S*)"
)
_IN_ORDER = (
    "burst",
    "journey",
)  # here each line is a step; in other workloads the order means nothing
_MOST = 1000  # of a weight

T = TypeVar("T")


def expanded(document: Any, read: Callable[[str], str]) -> Any:
    """The document of a job or a target; the content of its files replaces their names.

    `read` returns the text of a file. Any other document is returned unchanged: validation then
    reports its mistakes. Raises `ValueError` if a file cannot be read or a line is wrong.
    """
    document = _with_user_data(_with_requests(_with_ini(document, read), read), read)
    document = _with_needs(document, read)
    match document:
        case {"target": {} as target} if (found := _with_needs(target, read)) is not target:
            return {**document, "target": found}
        case _:
            return document


def _with_ini(document: Any, read: Callable[[str], str]) -> Any:
    match document:
        case {"baseline": {"ini": ini, **rest}}:
            return {**document, "baseline": {"ini": _text(ini, read), **rest}}
        case {"arms": [*variants]}:
            return {**document, "arms": [_variant(each, read) for each in variants]}
        case _:
            return document


def _variant(given: Any, read: Callable[[str], str]) -> Any:
    match given:
        case {"ini": ini, **rest}:
            return {**rest, "ini": _text(ini, read)}
        case _:
            return given


def _with_requests(document: Any, read: Callable[[str], str]) -> Any:
    match document:
        case {"workload": {"requests": {"file": str(name), **others}} as workload} if not others:
            found = _read(name, read, parse)
        case _:
            return document
    if workload.get("kind", "closed_loop") not in _IN_ORDER:
        found = weighted(found)
    return {**document, "workload": {**workload, "requests": found}}


def _with_user_data(document: Any, read: Callable[[str], str]) -> Any:
    match document:
        case {"workload": {"user_data": {"file": str(name), **others}} as workload} if not others:
            return {**document, "workload": {**workload, "user_data": _read(name, read, table)}}
        case _:
            return document


def _with_needs(document: Any, read: Callable[[str], str]) -> Any:
    found = _with_bodies(_with_env(_with_files(document, read), read), read)
    match found:
        case {"services": {**services}}:
            expanded = {name: _with_needs(each, read) for name, each in services.items()}
            return found if expanded == services else {**found, "services": expanded}
        case _:
            return found


def _with_files(document: Any, read: Callable[[str], str]) -> Any:
    match document:
        case {"files": {**files}} if any(isinstance(given, dict) for given in files.values()):
            texts = {path: _text(given, read) for path, given in files.items()}
            return {**document, "files": texts}
        case _:
            return document


def _with_bodies(document: Any, read: Callable[[str], str]) -> Any:
    """The document of a service, if it is a stub."""
    match document:
        case {"stub": {"responses": [*responses], **rest}}:
            found = [_with_body(each, read) for each in responses]
            return {**document, "stub": {**rest, "responses": found}}
        case _:
            return document


def _with_body(response: Any, read: Callable[[str], str]) -> Any:
    match response:
        case {"body": body, **rest}:
            return {**rest, "body": _text(body, read)}
        case _:
            return response


def _with_env(document: Any, read: Callable[[str], str]) -> Any:
    match document:
        case {"env_file": str(name), **rest}:
            names = [name]
        case {"env_file": [*names], **rest} if all(isinstance(name, str) for name in names):
            pass
        case _:
            return document
    env = rest.pop("environment", None) if "env" not in rest else rest.pop("env")
    if not isinstance(env := pairs(env or {}), dict):
        return document
    found: dict[str, Any] = {}
    for name in names:
        found |= _read(name, read, variables)
    return {**rest, "env": found | env}


def _text(given: Any, read: Callable[[str], str]) -> Any:
    """The text of a file that is named; anything else as it is."""
    match given:
        case {"file": str(name), **others} if not others:
            return _read(name, read, str)
        case _:
            return given


def _read(name: str, read: Callable[[str], str], parse: Callable[[str], T]) -> T:
    try:
        return parse(read(name))
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror or 'cannot be read'}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: is not UTF-8 text") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def table(text: str) -> dict[str, Any]:
    """The names and rows of a CSV file. Raises `ValueError` for one that is too large or empty."""
    if len(text.encode()) > MOST_ROWS_BYTES:
        raise ValueError(f"the file is larger than {MOST_ROWS_BYTES // 1000} kB")
    reader = csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), strict=True)
    try:
        names, *rows = [[value.strip() for value in row] for row in reader if row] or [[]]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} is no CSV: {error}") from error
    if not 0 < len(rows) <= MOST_ROWS:
        raise ValueError(f"a header line and 1 to {MOST_ROWS} rows are needed, not {len(rows)}")
    return {"names": names, "rows": rows}


def variables(text: str) -> dict[str, str]:
    """The variables of an env file. Raises `ValueError` for one without a value."""
    found = dotenv_values(stream=io.StringIO(text), interpolate=False)
    if without := [name for name, value in found.items() if value is None]:
        raise ValueError(f"{', '.join(without)}: a variable needs a value, as in NAME=value")
    return {name: value for name, value in found.items() if value is not None}


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
