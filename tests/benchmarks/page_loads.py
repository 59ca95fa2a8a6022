"""What pages cost a browser: `make bench-pages`, or `python -m tests.benchmarks.page_loads`.

Chromium opens the page of a job with 500 trials and 10 000 windows, each time with an empty cache:
how long until all of it is there, and how many bytes come over the wire? Then one tab shows all
jobs and another a running one, while blocks end 30 times as fast as on a host: does their memory
grow? The promises: 300 ms in the median, 120 kB, and a steady memory.
"""

import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from statistics import median

from playwright.sync_api import Page

from tests.benchmarks import rig
from tests.browsing import reader
from tests.filled_pages import served

COMPLETE_WITHIN_MS = 300.0
MOST_KB = 120.0
GROWS_AT_MOST = 1.2
EVERY_S = 0.1  # between two blocks of each live job
LOOKS = 12
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd > 0"
COST = """() => {
    const [page] = performance.getEntriesByType("navigation");
    const all = [page, ...performance.getEntriesByType("resource")];
    return [page.loadEventEnd, all.reduce((sum, each) => sum + each.transferSize, 0) / 1000];
}"""


def main() -> int:
    """Run and print; 1 where a promise was not kept."""
    options = parsed()
    rig.begin()
    with served("--large", "--every-s", "3600") as site:
        loads = [loaded(f"{site}/jobs/{options.large}") for _ in range(options.loads)]
    took_ms, sizes_kb = zip(*loads, strict=True)
    rig.row("complete after, ms", f"{rig.middle_half(took_ms)}, at most {max(took_ms):.0f}")
    rig.row("over the wire, kB", f"{median(sizes_kb):.1f}")
    with served("--every-s", str(EVERY_S)) as site:
        heaps = [remembered(f"{site}{path}", options.seconds) for path in ("/jobs", "/")]
    for path, found in zip(("/jobs", "/"), heaps, strict=True):
        rig.row(f"memory of {path}, MB", " ".join(f"{each:.1f}" for each in found))
    are_steady = all(max(found[-3:]) <= GROWS_AT_MOST * max(found[:3]) for found in heaps)
    is_quick = median(took_ms) <= COMPLETE_WITHIN_MS and median(sizes_kb) <= MOST_KB
    return 0 if is_quick and are_steady else 1


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--loads", type=int, default=20)
    parser.add_argument("--large", type=int, default=17, help="the number of the large job")
    parser.add_argument("--seconds", type=float, default=120.0, help="that each tab is watched")
    return parser.parse_args()


def loaded(address: str) -> tuple[float, float]:
    """Milliseconds until a page is complete, and kB over the wire."""
    with reader() as somebody:
        page = somebody.page()
        page.goto(address, wait_until="load")
        while not page.evaluate(LOADED):
            time.sleep(0.05)
        took_ms, size_kb = page.evaluate(COST)
    return float(took_ms), float(size_kb)


def remembered(address: str, seconds: float) -> Sequence[float]:
    """MB that the scripts of a tab hold, time after time."""
    with reader() as somebody:
        page = somebody.page()
        page.goto(address)
        found = []
        for _ in range(LOOKS):
            time.sleep(seconds / LOOKS)
            found.append(heap_mb(page))
        return found


def heap_mb(page: Page) -> float:
    """What is left after a collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used: float = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return used / 1e6


if __name__ == "__main__":
    sys.exit(main())
