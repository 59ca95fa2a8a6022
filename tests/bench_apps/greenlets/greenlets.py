"""Waits, and says in which thread library's world it did."""

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

Start = Callable[[str, list[tuple[str, str]]], Any]


def application(_environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
    """20 ms, in which other greenlets may run where gevent has patched `sleep`."""
    time.sleep(0.020)
    patched = "gevent" in sys.modules and time.sleep.__module__.startswith("gevent")
    body = b"gevent" if patched else b"plain"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
