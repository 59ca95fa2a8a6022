"""What nginx in front of uWSGI's socket logged of one run.

One line a request, tab separated: time, status, request time, and the upstream's connect, header
and response times, all in seconds with three digits. A time is `-` where it did not come to it,
and several with commas where nginx tried again.
"""

import os
import re
from collections import Counter
from typing import Any

from tuner.bench.load.probe import rows

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


def spread(column: tuple[str, ...]) -> dict[str, float | None]:
    """Percentiles of one column in ms, 0 where it has no times."""
    times_ms: list[float] = []
    for words, number in Counter(column).items():  # equal words are read once
        times = [float(part) for part in BETWEEN.split(words) if part.strip() not in ("-", "")]
        if times:
            times_ms += number * [1000 * sum(times)]
    return rows.spread(times_ms) or {"p50_ms": 0.0, "p95_ms": 0.0, "max_ms": 0.0}
