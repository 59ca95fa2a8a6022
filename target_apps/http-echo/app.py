"""The app of uWSGI: the reply that all servers of this suite send."""

from collections.abc import Callable
from typing import Any

BODY = b"Hello World\n"
HEADERS = [("Content-Type", "text/plain"), ("Content-Length", str(len(BODY)))]


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Answer every request alike."""
    start_response("200 OK", HEADERS)
    return [BODY]
