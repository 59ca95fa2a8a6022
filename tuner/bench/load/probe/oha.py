"""What one run of oha 1.16 left: its JSON, and a row for every answer in a database.

The columns are url (path and query), start, start_latency_correction (when the request was due;
null without a rate), end, duration, status, len_bytes and run; times are seconds since oha began.
Every answer that came to its end has a row, whatever its status; a request that failed has none.
"""

import json
import os
import sqlite3
from typing import Any

from tuner.bench.load.probe import rows
from tuner.bench.load.probe.rows import Row

DATABASE = "rows.db"
ROWS = (
    "SELECT coalesce(start_latency_correction, start), start, end, status BETWEEN 200 AND 299, url"
    " FROM oha"
)
BODY_BYTES = (
    "SELECT coalesce(sum(len_bytes), 0) FROM oha"
    " WHERE status BETWEEN 200 AND 299 AND end BETWEEN ? AND ?"
)


def summarise(folder: str, output: str, task: dict[str, Any]) -> dict[str, Any]:
    """The figures of the run. Raises `ValueError` where it did not come to its end."""
    try:
        document = json.loads(output)
        statuses = {str(code): int(n) for code, n in document["statusCodeDistribution"].items()}
        errors = {str(words): int(n) for words, n in document["errorDistribution"].items()}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not oha's output: {error!r}") from error
    counted = (task["head_s"], task["length_s"])
    urls, found, body_bytes = read_rows(os.path.join(folder, DATABASE), counted)
    answered = sum(statuses.values())
    if len(found) != answered:
        raise ValueError(f"oha counted {answered} answers and wrote {len(found)} rows")
    timed_out = sum(n for words, n in errors.items() if "timeout" in words)
    bad = {f"http_{code}": n for code, n in statuses.items() if not 200 <= int(code) < 300}
    summary = rows.summary(
        found,
        head_s=task["head_s"],
        length_s=task["length_s"],
        connections=task["connections"],
        unanswered=timed_out,
    )
    return {
        "rows": {
            **summary,
            "body_bytes": body_bytes,
            "by_request": by_request(urls, found, task),
        },
        "sent": answered + sum(errors.values()),
        "errors": {**bad, **errors},
        "over_limit": None,
        "connect": None,
        "course": rows.asked(found, task),
    }


def by_request(urls: list[str], found: list[Row], task: dict[str, Any]) -> list[dict[str, Any]]:
    """The figures of each request of a mix; `urls` has one entry for each row.

    Requests with the same path and query are one. Those without an answer belong to none.
    """
    paths = list(dict.fromkeys(task["paths"]))
    if len(paths) < 2:
        return []
    groups: dict[str, list[Row]] = {path: [] for path in paths[: rows.MOST_REQUESTS]}
    for url, row in zip(urls, found, strict=True):
        if url in groups:
            groups[url].append(row)
    return [
        rows.one_request(
            group,
            head_s=task["head_s"],
            length_s=task["length_s"],
            request=task["paths"].index(path),
            sent=len(group),
            failed=sum(not ok for _, _, _, ok in group),
        )
        for path, group in groups.items()
    ]


def read_rows(path: str, counted: tuple[float, float]) -> tuple[list[str], list[Row], int]:
    """The path and the row of every answer, and the bytes of those that came in time.

    Without an answer oha makes no table.
    """
    database = sqlite3.connect(path)
    try:
        found = database.execute(ROWS).fetchall()
        (body_bytes,) = database.execute(BODY_BYTES, counted).fetchone()
    except sqlite3.OperationalError:
        found, body_bytes = [], 0
    finally:
        database.close()
    answers = [(due, sent, end, bool(ok)) for due, sent, end, ok, _ in found]
    return [url for *_, url in found], answers, body_bytes
