"""Each request computes, and asks the service `store` once over a connection that stays open.

COMPUTE_MS  CPU time of a request where one request is served at a time
COST        factor on it for each doubling of the slots, as caches and switches cost in real apps
"""

import math
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import uwsgi  # type: ignore[import-untyped]  # only inside uWSGI

BODY = b"ok"
HEADERS = [("Content-Length", str(len(BODY)))]

SLOTS = uwsgi.numproc * uwsgi.cores
COMPUTE_S = float(os.environ["COMPUTE_MS"]) / 1000
COMPUTE_S *= float(os.environ["COST"]) ** math.log2(SLOTS)

own = threading.local()


def compute() -> None:
    """Take the CPU time of a request from this thread's clock: a wait does not count."""
    end = time.thread_time() + COMPUTE_S
    while time.thread_time() < end:
        pass


def ask() -> None:
    """One round trip to the service."""
    if not hasattr(own, "store"):
        own.store = socket.create_connection(("store", 9000))
        own.store.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    own.store.sendall(b"?")
    if not own.store.recv(1):
        raise ConnectionError("the store has closed the connection")


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
    if environ["PATH_INFO"] != "/health":
        compute()
        ask()
    start_response("200 OK", HEADERS)
    return [BODY]
