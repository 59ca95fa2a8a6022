"""The filled site in a process of its own, its addresses, and pictures of all of its pages.

`python -m tests.filled_pages FOLDER` leaves a picture of each page: light, dark, and on a phone.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browsing import reader
from tests.service import free_port

ADDRESSES = (
    "/",
    "/apps/checkout",
    "/apps/basket",
    "/jobs",
    "/jobs?state=failed",
    *(f"/jobs/{number}" for number in range(1, 17)),
    "/new",
    "/new?target_app=mixed",
    "/lint",
    "/hosts",
    "/spaces",
    "/spaces/default",
    "/options",
    "/options/processes",
    "/rules",
    "/rules/U007",
    "/nowhere",
)
"""`tests.filled_rows` makes the jobs."""

SHAPES: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}},
}


@contextmanager
def served(*words: str) -> Iterator[str]:
    """The address of a filled site, which goes afterwards."""
    port = free_port()
    argv = [sys.executable, "-m", "tests.filled_site", "--port", str(port), *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            while not (line := process.stdout.readline()).startswith("http"):  # its rows are there
                assert line, "the filled site has ended"
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def main() -> None:
    """Take the pictures."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with served() as site:
        for name, shape in SHAPES.items():
            with reader(**shape) as somebody:
                for path in ADDRESSES:
                    page = somebody.page()
                    page.goto(f"{site}{path}")
                    of = path.strip("/").translate(str.maketrans("/?=", "---")) or "apps"
                    page.screenshot(path=folder / f"{of}-{name}.png", full_page=True)
                    page.close()


if __name__ == "__main__":
    main()
