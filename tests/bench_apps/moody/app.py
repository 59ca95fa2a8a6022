"""An app that misbehaves on demand."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterable
from typing import Any

HOARD = [os.urandom(10_000_000) for _ in range(int(os.environ.get("HOARD_10_MB", "0")))]
Start = Callable[[str, list[tuple[str, str]]], Any]


def application(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
    """Answer by path."""
    path = environ["PATH_INFO"]
    good = True
    if path == "/500":
        good = False
    elif path == "/half":
        good = random.random() < 0.5  # noqa: S311
    elif path == "/die":
        os.kill(1, signal.SIGINT)  # uWSGI's master: the container ends
        time.sleep(5)
    elif path == "/hoard":
        HOARD.append(os.urandom(20_000_000))
    elif path == "/work":
        sum(range(100_000))  # milliseconds: the kernel samples a process's CPU time every 10 ms
    elif path == "/wait":
        time.sleep(0.3)
    elif path == "/echo":
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        mood = environ.get("HTTP_X_MOOD")
        good = environ["REQUEST_METHOD"] == "POST" and body == b"-x=1" and mood == "-good"
    elif path == "/unframed":
        start_response("200 OK", [("Content-Type", "text/plain")])  # neither a length nor chunks
        return [b"ok"]
    status = "200 OK" if good else "500 Internal Server Error"
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", "2")])
    return [b"ok"]
