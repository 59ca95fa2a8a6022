"""What nginx in front of uWSGI's socket logged of one run.

One line a request, tab separated: time, status, request time, and the upstream's connect, header
and response times, all in seconds with three digits. A time is `-` where it did not come to it,
and several with commas where nginx tried again.
"""

import math
import os
import re
from collections import Counter
from typing import Any

LOG = "/dev/shm/nginx.log"  # noqa: S108  # the engine's nginx writes it there
COLUMNS = 6
BETWEEN = re.compile("[,:]")


def log_size() -> int | None:
    """Where the log ends now; None where there is none."""
    try:
        return os.stat(LOG).st_size
    except OSError:
        return None


def read(offset: int | None) -> dict[str, Any] | None:
    """What was logged from `offset` on; None where there was no log, or nothing in it."""
    if offset is None:
        return None
    with open(LOG) as file:
        file.seek(offset)
        return figures(file.read())


def figures(text: str) -> dict[str, Any] | None:
    """The times of all requests in ms; None where there was none."""
    lines = [fields for line in text.splitlines() if len(fields := line.split("\t")) == COLUMNS]
    if not lines:
        return None
    _, statuses, request, connect, header, response = zip(*lines, strict=True)
    return {
        "requests": len(lines),
        "by_status": dict(Counter(statuses)),
        "connect": spread(connect),
        "header": spread(header),
        "response": spread(response),
        "request": spread(request),
    }


def spread(column: tuple[str, ...]) -> dict[str, float]:
    """Percentiles of one column in ms, 0 where it has no times: equal words are read once."""
    counts: Counter[float] = Counter()
    for words, number in Counter(column).items():
        times = [float(part) for part in BETWEEN.split(words) if part.strip() not in ("-", "")]
        if times:
            counts[1000 * sum(times)] += number
    if not counts:
        return {"p50_ms": 0.0, "p95_ms": 0.0, "max_ms": 0.0}
    return {
        "p50_ms": percentile(counts, 0.50),
        "p95_ms": percentile(counts, 0.95),
        "max_ms": max(counts),
    }


def percentile(counts: Counter[float], share: float) -> float:
    """The smallest time that `share` of all do not exceed."""
    wanted, seen = max(1, math.ceil(share * counts.total())), 0
    for time_ms in sorted(counts):
        seen += counts[time_ms]
        if seen >= wanted:
            return time_ms
    raise ValueError("a share above 1")
