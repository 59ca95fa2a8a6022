"""Meinheld, if its build worked; else the first error of the build."""

import sys
from pathlib import Path

from app import application

try:
    from meinheld import server  # type: ignore[import-not-found]  # only in the image
except ImportError:
    log = Path("/app/meinheld.log").read_text().splitlines()
    cause = next((line.strip() for line in log if ": error: " in line), log[-1] if log else "")
    sys.exit(f"error: meinheld 1.0.2 does not build with this Python: {cause}")

server.listen(("0.0.0.0", 8000))  # noqa: S104  # in a container without a network
server.run(application)
