"""Before a load is sent: single requests, a target that gets ready, the way to the services."""

import contextlib
import http.client
import json
import re
import socket
import statistics
import time
from contextlib import suppress
from typing import Any

from tuner.bench.load.probe.counters import read_stats, receive_all

# ---- Single requests, tried before a load is sent: answered as expected? the connection kept?
#
# The task: `port`, `host` (the Host header) and `requests` with method, path, headers and body.

TRIED_WITHIN_S = 10.0
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
        words = f"nothing within {TRIED_WITHIN_S:g} s"
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
            socket.settimeout(TRIED_WITHIN_S)
            send(connection, task, request).read()
        except (OSError, http.client.HTTPException):
            return {"outcome": "closed", "words": ""}
    return {"outcome": "kept", "words": ""}


def connect(task: dict[str, Any]) -> http.client.HTTPConnection:
    """A connection that is never opened a second time behind our back."""
    connection = http.client.HTTPConnection("127.0.0.1", task["port"], timeout=TRIED_WITHIN_S)
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


# ---- Waits until the target can be measured
#
# Another server than uWSGI has no stats: it is ready once it has answered twice.
#
# uWSGI's stats are asked first, and the first request is sent once every process accepts: nothing
# of the waiting is then left in the listen queue, or uncounted, when the load begins.

POLL_S = 0.02
ANSWER_TIMEOUT_S = 5.0  # for one health request
ERRORS_FOR_S = 2.0  # an app that has answered badly for so long will not get better
RESPAWNS_BORNE = 3  # and one of each process
STATS_TIMEOUT_S = 2.0
ANSWERS_OF_OTHERS = 2  # one process may answer while the others still start
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def ready(task: dict[str, Any]) -> dict[str, Any]:
    """Poll until ready; the outcome says what was seen last."""
    deadline = time.monotonic() + task["timeout_s"]
    bad_since = None
    seen: dict[str, Any] = {"stats": None, "answer": None}
    is_uwsgi = task["stats"] is not None
    wanted = 1 if is_uwsgi else ANSWERS_OF_OTHERS
    while time.monotonic() < deadline:
        if is_uwsgi:
            seen["stats"] = census(read_stats(task["stats"], STATS_TIMEOUT_S))
        if keeps_dying(seen["stats"]):
            return {"outcome": "crash_loop", **seen}
        if not is_uwsgi or accepts(seen["stats"]):
            left_s = max(0.1, deadline - time.monotonic())
            seen["answer"] = ask(
                task["port"], task["path"], task["host"], min(ANSWER_TIMEOUT_S, left_s)
            )
            if isinstance(seen["answer"], int):
                if 200 <= seen["answer"] < 300:
                    wanted -= 1
                    if not wanted:
                        return {"outcome": "ready", **seen}
                    continue
                bad_since = bad_since or time.monotonic()
                if time.monotonic() - bad_since > ERRORS_FOR_S:
                    return {"outcome": "errors_only", **seen}
        time.sleep(POLL_S)
    return {"outcome": "timeout", **seen}


def census(stats: str | None) -> dict[str, int] | None:
    """How many processes there are, take requests, sleep and were replaced; None without stats."""
    if stats is None:
        return None
    try:
        workers = json.loads(stats)["workers"]
    except (ValueError, KeyError):
        return None
    cheap = sum(worker["status"] == "cheap" for worker in workers)
    accepting = sum(bool(w["accepting"]) and w["status"] != "cheap" for w in workers)
    return {
        "processes": len(workers),
        "accepting": accepting,
        "cheap": cheap,
        "respawns": sum(max(0, worker["respawn_count"] - 1) for worker in workers),
    }


def accepts(found: dict[str, int] | None) -> bool:
    """Whether every process that should take requests does; those put to sleep need not."""
    if found is None:
        return False
    return found["accepting"] > 0 and found["accepting"] + found["cheap"] >= found["processes"]


def keeps_dying(found: dict[str, int] | None) -> bool:
    """Whether too many processes were replaced to wait any longer."""
    return found is not None and found["respawns"] > RESPAWNS_BORNE + found["processes"]


def ask(port: int, path: str, host: str, timeout_s: float) -> int | str:
    """Status of one GET, read to its end; a few words where there was none."""
    request = (
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\n"
        "User-Agent: uwsgi-tuner\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
            connection.sendall(request.encode())
            answer = receive_all(connection, is_whole)
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except ConnectionRefusedError:
        return f"nothing listens on port {port}"
    except OSError as error:
        return str(error)
    words = answer.split(None, 2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        return "the answer is not HTTP"
    return int(words[1])


def is_whole(received: bytes) -> bool:
    """Whether an answer that tells its length is there: http11-socket never closes after it."""
    head, blank, body = received.partition(b"\r\n\r\n")
    length = LENGTH.search(head) if blank else None
    return length is not None and len(body) >= int(length[1])


# ---- How long the way from the app to its services and back takes

TRIALS = 31
WITHIN_S = 2.0
CLOSED_PORT = 1


def round_trips(task: dict[str, Any]) -> dict[str, float]:
    """The median time to each of the `services` in ms; one that does not answer is left out."""
    found = {}
    for name in task["services"]:
        try:
            address = socket.gethostbyname(name)
            found[name] = statistics.median(once_ms(address) for _ in range(TRIALS))
        except OSError:
            continue
    return found


def once_ms(address: str) -> float:
    """The time of one TCP connect. Raises `OSError` without an answer.

    The kernel of the other end refuses it, or accepts it: one round trip, and no program waits.
    """
    with socket.socket() as connection:
        connection.settimeout(WITHIN_S)
        began = time.perf_counter()
        with suppress(ConnectionRefusedError):
            connection.connect((address, CLOSED_PORT))
        return (time.perf_counter() - began) * 1000
