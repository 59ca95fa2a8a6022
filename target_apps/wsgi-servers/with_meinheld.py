"""Meinheld, if its build worked; else the end of what the build said."""

import sys
from pathlib import Path

from app import application

try:
    from meinheld import server  # type: ignore[import-not-found]  # only in the image
except ImportError:
    log = Path("/app/meinheld.log").read_text().splitlines()
    sys.exit("\n".join(["meinheld 1.0.2 does not build with this Python:", *log[-15:]]))

server.listen(("0.0.0.0", 8000))  # noqa: S104  # in a container without a network
server.run(application)
