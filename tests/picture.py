"""A picture of a page: `python -m tests.picture http://127.0.0.1:8321/jobs/1 docs/job.png`.

The one in the README is of the job of `make demo ARGS=--keep`.
"""

import argparse
from pathlib import Path

from tests.browsing import reader

WIDE, HIGH = 1120, 1500


def main() -> None:
    """Take it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("file", type=Path)
    asked = parser.parse_args()
    with reader(viewport={"width": WIDE, "height": HIGH}, color_scheme="light") as somebody:
        page = somebody.page()
        page.goto(asked.address, wait_until="networkidle")
        page.screenshot(path=asked.file)


if __name__ == "__main__":
    main()
