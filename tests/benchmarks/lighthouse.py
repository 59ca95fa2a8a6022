"""Lighthouse on five pages: `make bench-lighthouse`, or `python -m tests.benchmarks.lighthouse`.

It needs Node's `npx`, which fetches Lighthouse from npm, and Chromium. The pages have filled rows.
The promises: performance and best practices at least 95, accessibility 100.
"""

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping

import httpx

from tests.benchmarks import rig
from tests.filled_pages import served

LIGHTHOUSE = "lighthouse@12.8.2"
PAGES = ("/", "/jobs", "/jobs/4", "/apps/checkout", "/new?target_app=mixed")
LEAST = {"performance": 95, "accessibility": 100, "best-practices": 95}


def main() -> int:
    """Run and print; 1 where a page has less."""
    parsed()
    rig.begin()
    with served("--every-s", "3600") as site:
        for path in PAGES:
            httpx.get(f"{site}{path}", timeout=60)  # the first lint waits for its process
        found = {path: scores(f"{site}{path}") for path in PAGES}
    for path, known in found.items():
        rig.row(path, ", ".join(f"{name} {score}" for name, score in known.items()))
    are_good = all(
        known[name] >= least for known in found.values() for name, least in LEAST.items()
    )
    return 0 if are_good else 1


def parsed() -> Namespace:
    """The command line."""
    return rig.arguments(__doc__).parse_args()


def scores(address: str) -> Mapping[str, int]:
    """Of 100, by category."""
    flags = "--headless=new" + (" --no-sandbox" if os.geteuid() == 0 else "")
    argv = ["npx", "--yes", LIGHTHOUSE, address, "--quiet", "--output=json", "--preset=desktop"]
    argv += [f"--only-categories={','.join(LEAST)}", f"--chrome-flags={flags}"]
    environ = {**os.environ, "CHROME_PATH": shutil.which("chromium") or ""}
    done = subprocess.run(
        argv, capture_output=True, text=True, env=environ, check=True, timeout=300
    )
    found = json.loads(done.stdout)["categories"]
    return {name: round(100 * found[name]["score"]) for name in LEAST}


if __name__ == "__main__":
    sys.exit(main())
