"""Each request adds a row in the service `counter`, and a line to a file of the app's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

LINES = Path("/srv/own/lines")


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
    if environ["PATH_INFO"] == "/count":
        with urlopen("http://counter:9000/count") as answer:
            body = answer.read() + b" %d" % len(LINES.read_text().splitlines())
    elif environ["PATH_INFO"] == "/out":
        try:
            urlopen(environ["QUERY_STRING"], timeout=2)  # noqa: S310 - the test chooses it
            body = b"reached"
        except OSError as error:
            body = f"not reached: {error}".encode()
    else:
        with urlopen("http://counter:9000/add") as answer:
            body = answer.read()
        with LINES.open("a") as file:
            file.write("line\n")
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
