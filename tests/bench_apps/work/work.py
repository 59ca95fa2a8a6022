"""An app whose work is set in its ini: `env = UNITS=1000` and so on.

UNITS        CPU work per request, about 1.5 us each
WAIT_MS      wait per request, with the GIL let go
HOLD_MB      memory that every process holds for itself
PLANT        `yes` adds 5 % to the work, `not` does not
SLOW_STARTS  in so many of ten starts the app is 30 % slower, as long as it lives
START_MS     how long the app loads
"""

import os
import socket
import time
from collections.abc import Callable, Iterable
from functools import cache
from itertools import repeat
from typing import Any

ITERATIONS_PER_UNIT = 100
PLANTED = 1.05
SLOWER = 1 / 0.7  # 30 % fewer requests in a second
BODY = b'{"status": "ok"}'
HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]

Start = Callable[[str, list[tuple[str, str]]], Any]


def asked(name: str) -> int:
    """A number from the environment."""
    return int(os.environ.get(name, "0"))


def is_slow_start() -> bool:
    """By the container's random id, which is its host name: the same in all its processes."""
    return int(socket.gethostname(), 16) % 10 < asked("SLOW_STARTS")


def units() -> float:
    """CPU work of one request."""
    planted = PLANTED if os.environ.get("PLANT") == "yes" else 1.0
    return asked("UNITS") * planted * (SLOWER if is_slow_start() else 1.0)


ITERATIONS = round(units() * ITERATIONS_PER_UNIT)
WAIT_S = asked("WAIT_MS") / 1000
time.sleep(asked("START_MS") / 1000)


@cache
def held() -> bytearray:
    """After the fork, and written to: before it, the processes would share the pages."""
    return bytearray(b"\x01") * (asked("HOLD_MB") * 1024 * 1024)


def application(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
    """Wait, compute, answer."""
    held()
    if WAIT_S:
        time.sleep(WAIT_S)
    compute(ITERATIONS)
    start_response("200 OK", HEADERS)
    return [BODY]


def compute(iterations: int) -> int:
    """Numbers below 256 only, which CPython keeps ready: allocating would add noise."""
    total = 0
    for _ in repeat(None, iterations):
        total = (total + 7) & 127
    return total
