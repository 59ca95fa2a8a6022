"""What one run of oha 1.16 left: its JSON, and a row for every answer in a database.

The columns are url, start, start_latency_correction (when the request was due; null without a
rate), end, duration, status, len_bytes and run; times are seconds since oha began. Every answer
that came to its end has a row, whatever its status; a request that failed has none.
"""

import json
import os
import sqlite3
from typing import Any

from tuner.load.probe import rows
from tuner.load.probe.rows import Row

DATABASE = "rows.db"
ROWS = (
    "SELECT coalesce(start_latency_correction, start), start, end, status BETWEEN 200 AND 299"
    " FROM oha"
)


def summarise(folder: str, output: str, task: dict[str, Any]) -> dict[str, Any]:
    """The figures of the run. Raises `ValueError` where it did not come to its end."""
    try:
        document = json.loads(output)
        statuses = {str(code): int(n) for code, n in document["statusCodeDistribution"].items()}
        errors = {str(words): int(n) for words, n in document["errorDistribution"].items()}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not oha's output: {error!r}") from error
    found = read_rows(os.path.join(folder, DATABASE))
    answered = sum(statuses.values())
    if len(found) != answered:
        raise ValueError(f"oha counted {answered} answers and wrote {len(found)} rows")
    timed_out = sum(n for words, n in errors.items() if "timeout" in words)
    bad = {f"http_{code}": n for code, n in statuses.items() if not 200 <= int(code) < 300}
    return {
        "rows": rows.summary(
            found,
            head_s=task["head_s"],
            length_s=task["length_s"],
            connections=task["connections"],
            unanswered=timed_out,
        ),
        "sent": answered + sum(errors.values()),
        "errors": {**bad, **errors},
        "over_limit": None,
        "connect": None,
    }


def read_rows(path: str) -> list[Row]:
    """Every answer of the run. Without an answer oha makes no table."""
    database = sqlite3.connect(path)
    try:
        return database.execute(ROWS).fetchall()
    except sqlite3.OperationalError:
        return []
    finally:
        database.close()
