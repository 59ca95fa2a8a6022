"""Waits until the target can be measured.

Another server than uWSGI has no stats: it is ready once it has answered twice.

uWSGI's stats are asked first, and the first request is sent once every process accepts: nothing
of the waiting is then left in the listen queue, or uncounted, when the load begins.
"""

import json
import re
import socket
import time
from typing import Any

from tuner.bench.load.probe.counters import read_stats, receive_all

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
