"""Single requests, tried before a load is sent: answered as expected? the connection kept?

The task: `port`, `host` (the Host header) and `requests` with method, path, headers and body.
"""

import contextlib
import http.client
import time
from typing import Any

ANSWER_TIMEOUT_S = 10.0
QUIET_FOR_S = 1.0  # a body without an end in sight: uWSGI would sit on it for 4 s
CLOSES_WITHIN_S = 0.1  # a server that closes does so together with its answer


def try_each(task: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer to each request, sent in order on connections of their own.

    `answer` is a status or a few words, `length` the bytes of its body.
    """
    return [try_one(task, request) for request in task["requests"]]


def try_one(task: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request, read to its end."""
    try:
        with contextlib.closing(connect(task)) as connection:
            answer = send(connection, task, request)
            return {"length": len(answer.read()), "answer": answer.status}
    except TimeoutError:
        words = f"nothing within {ANSWER_TIMEOUT_S:g} s"
    except (OSError, http.client.HTTPException) as error:
        words = str(error) or type(error).__name__
    return {"length": 0, "answer": words}


def keepalive(task: dict[str, Any]) -> list[dict[str, str]]:
    """What becomes of a connection after each request, up to the first that decides.

    `outcome` is `kept`; `announced`, where the answer itself says that the connection ends;
    `closed`, where the server closes it without a word; `endless`, where neither a length nor
    chunks tell where the answer ends, and the connection stays open; or `failed`, with the reason
    in `words`. The last three decide.
    """
    answers: list[dict[str, str]] = []
    for request in task["requests"]:
        answers.append(keep_one(task, request))
        if answers[-1]["outcome"] not in ("kept", "announced"):
            break
    return answers


def keep_one(task: dict[str, Any], request: dict[str, Any]) -> dict[str, str]:
    """What becomes of the connection after one request."""
    try:
        connection = connect(task)
        socket = connection.sock  # http.client lets go of it where it expects no second answer
        answer = send(connection, task, request)
    except (OSError, http.client.HTTPException) as error:
        return {"outcome": "failed", "words": str(error) or type(error).__name__}
    with contextlib.closing(connection):
        socket.settimeout(QUIET_FOR_S)
        try:
            answer.read()
        except TimeoutError:
            return {"outcome": "endless", "words": ""}
        if answer.will_close:
            return {"outcome": "announced", "words": ""}
        time.sleep(CLOSES_WITHIN_S)
        try:
            socket.settimeout(ANSWER_TIMEOUT_S)
            send(connection, task, request).read()
        except (OSError, http.client.HTTPException):
            return {"outcome": "closed", "words": ""}
    return {"outcome": "kept", "words": ""}


def connect(task: dict[str, Any]) -> http.client.HTTPConnection:
    """A connection that is never opened a second time behind our back."""
    connection = http.client.HTTPConnection("127.0.0.1", task["port"], timeout=ANSWER_TIMEOUT_S)
    connection.connect()
    connection.auto_open = 0
    return connection


def send(
    connection: http.client.HTTPConnection, task: dict[str, Any], request: dict[str, Any]
) -> http.client.HTTPResponse:
    """The beginning of the answer to one request."""
    given = {name.lower() for name in request["headers"]}
    usual = {"Host": task["host"], "User-Agent": "uwsgi-tuner", "Accept": "*/*"}
    headers = {name: value for name, value in usual.items() if name.lower() not in given}
    body = request["body"]
    connection.request(
        request["method"],
        request["path"],
        body=None if body is None else body.encode(),
        headers={**headers, **request["headers"]},
    )
    return connection.getresponse()
