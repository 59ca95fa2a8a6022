"""An app with a fault at a known rate: by count, not by chance, so that the share is exact."""

import socket
import struct
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import uwsgi  # type: ignore[import-untyped]  # only inside uWSGI

FAILS_ONE_IN = 20  # /fails: 5 % of the requests are answered with 500
RESETS_ONE_IN = 50  # /resets: 2 % of the connections are reset
BODY = b"ok"

requests = count(1)  # of this process
Start = Callable[[str, list[tuple[str, str]]], Any]


def application(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
    """Answer by path."""
    number, path = next(requests), environ["PATH_INFO"]
    status = "200 OK"
    if path == "/fails" and number % FAILS_ONE_IN == 0:
        status = "500 Internal Server Error"
    if path == "/resets" and number % RESETS_ONE_IN == 0:
        reset()
        return []
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(BODY)))])
    return [BODY]


def reset() -> None:
    """With nothing to linger for, closing the last descriptor sends RST in place of FIN."""
    with socket.socket(fileno=uwsgi.connection_fd()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.detach()  # uWSGI closes it when we return
