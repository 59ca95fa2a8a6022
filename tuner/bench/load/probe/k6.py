"""The figures of one run of k6 1.8. `tuner/bench/load/script.js` writes a line for every request.

A line is `request,ok,sent,answered,connecting,took,status,error,words`. Times are in ms since k6
began to send; `took` is from the connect to the end of the answer; `error` is k6's number. One line
(not always the first) gives the time of the beginning. The last line shows that the run is whole.

The latency of a request is its connect and `took`; k6's own time before and after does not count.
`task` has `limit_s` besides the fields of every client.
"""

import math
import os
from collections import Counter
from typing import Any, NamedTuple

from tuner.bench.load.probe import rows
from tuner.bench.load.probe.rows import Row

ROWS = "rows"
LOG = "k6.log"
LOG_KEPT = 2000
BEGAN = "began,"
ENDED = "ended"

NOT_TAKEN = 1  # the script's own number; `words` is the value that the answer does not hold
_TIMEOUT, _DIAL_TIMEOUT = 1050, 1211
_CLASSES = {1201: "reset", 1212: "refused", 1220: "reset", _DIAL_TIMEOUT: "connect_timeout"}
_WORDS = (  # for errors without a number; first match wins
    ("assign requested address", "ports_exhausted"),
    ("unexpected EOF", "truncated"),
    ("EOF", "early_close"),
    ("server closed idle connection", "early_close"),
    ("connection reset", "reset"),
    ("broken pipe", "reset"),
)
_STATUS_ERRORS = range(1400, 1600)  # an answer of the app: 1000 and its status


class Sent(NamedTuple):
    """One request: times in seconds since the first was sent."""

    request: int
    ok: bool
    sent_s: float
    end_s: float
    connecting_s: float
    took_s: float
    status: int
    error: int
    words: str

    @property
    def is_answered(self) -> bool:
        """Whether an answer came to its end, whatever its status."""
        return self.status > 0 and (self.error in (0, NOT_TAKEN) or self.error in _STATUS_ERRORS)

    @property
    def is_given_up(self) -> bool:
        """Whether the user waited in vain."""
        return self.kind in ("connect_timeout", "read_timeout")

    @property
    def latency_s(self) -> float:
        """The time that the user waited, connect included."""
        return self.connecting_s + self.took_s

    @property
    def kind(self) -> str:
        """The class of a failed request."""
        if self.error == NOT_TAKEN:
            return f"take_{self.words}"
        if self.is_answered:
            return f"http_{self.status}"
        if self.error == _TIMEOUT:  # a latency of 0: it never connected
            return "read_timeout" if self.latency_s > 0 else "connect_timeout"
        known = _CLASSES.get(self.error)
        return known or next((name for words, name in _WORDS if words in self.words), "other")


def summarise(folder: str, output: str, task: dict[str, Any]) -> dict[str, Any]:
    """The figures of the run. Raises `ValueError` where it did not come to its end."""
    try:
        with open(os.path.join(folder, ROWS), encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        lines = []
    began = next((line for line in lines if line.startswith(BEGAN)), None)
    if began is None or lines[-1] != ENDED:
        raise ValueError(f"k6 did not come to its end {last_words(folder)}".rstrip())
    lines.remove(began)
    found, first_s = read_rows(lines[:-1])
    failed = [one for one in found if not (one.ok and one.is_answered)]
    kinds = Counter(one.kind for one in failed)
    length_s = task["length_s"]
    if length_s is None:  # a burst ends when the last user has an answer, or gives up
        length_s = max((one.end_s for one in found), default=task["head_s"])
    summary = rows.summary(
        [row_of(one) for one in found if one.is_answered],
        head_s=task["head_s"],
        length_s=length_s,
        connections=task["connections"],
        unanswered=sum(one.is_given_up for one in failed),
        given_up_ms=given_up_ms(failed, task),
    )
    return {
        "rows": {**summary, "by_request": by_request(found, task)},
        "sent": len(found),
        "errors": dict(kinds),
        "over_limit": over_limit(found, task["limit_s"]),
        "connect": rows.spread([1000 * one.connecting_s for one in found if one.connecting_s > 0]),
        "started_at": float(began.removeprefix(BEGAN)) / 1000 + first_s,
        "first_failed": first_failed(failed),
        "course": rows.asked([row_of(one) for one in found if one.is_answered], task),
    }


def read_rows(lines: list[str]) -> tuple[list[Sent], float]:
    """All requests, and the time of the first one in seconds."""
    found = [parse(line) for line in lines]
    first_s = min((one.sent_s for one in found), default=0.0)
    return [
        one._replace(sent_s=one.sent_s - first_s, end_s=one.end_s - first_s) for one in found
    ], first_s


def parse(line: str) -> Sent:
    """One line. Raises `ValueError` for another."""
    request, ok, sent, end, connecting, took, status, error, words = line.split(",", 8)
    return Sent(
        request=int(request),
        ok=ok == "1",
        sent_s=float(sent) / 1000,
        end_s=float(end) / 1000,
        connecting_s=float(connecting) / 1000,
        took_s=float(took) / 1000,
        status=int(status),
        error=int(error),
        words=words,
    )


def row_of(one: Sent) -> Row:
    """The row of a request, which begins with its connect."""
    began_s = one.end_s - one.latency_s
    return began_s, began_s, one.end_s, one.ok


def given_up_ms(found: list[Sent], task: dict[str, Any]) -> list[float]:
    """Latencies of requests that users with a limit gave up: the limit, or longer.

    Without them, a server that answers few users at all would look fast.
    """
    limit_s, head_s, length_s = task["limit_s"], task["head_s"], task["length_s"]
    return [
        1000 * max(limit_s, one.latency_s)
        for one in found
        if limit_s is not None
        and one.is_given_up
        and head_s <= one.sent_s < (math.inf if length_s is None else length_s)
    ]


def over_limit(found: list[Sent], limit_s: float | None) -> float | None:
    """Share of all requests not answered as expected within the limit; None without a limit."""
    late = late_of(found, limit_s)
    if late is None:
        return None
    return late / len(found) if found else 1.0


def late_of(found: list[Sent], limit_s: float | None) -> int | None:
    """How many were not answered as expected within the limit; None without a limit."""
    if limit_s is None:
        return None
    return sum(not (one.ok and one.is_answered and one.latency_s <= limit_s) for one in found)


def by_request(found: list[Sent], task: dict[str, Any]) -> list[dict[str, Any]]:
    """The figures of each of the first requests; nothing for a load of one request."""
    if len(task["paths"]) < 2:
        return []
    groups: dict[int, list[Sent]] = {}
    for one in found:
        if one.request < rows.MOST_REQUESTS:
            groups.setdefault(one.request, []).append(one)
    return [
        rows.one_request(
            [row_of(one) for one in group if one.is_answered],
            head_s=task["head_s"],
            length_s=task["length_s"],
            given_up_ms=given_up_ms(group, task),
            request=request,
            sent=len(group),
            failed=sum(not (one.ok and one.is_answered) for one in group),
            over_limit=late_of(group, task["limit_s"]),
        )
        for request, group in sorted(groups.items())
    ]


def first_failed(failed: list[Sent]) -> dict[str, Any] | None:
    """The first failed request and its answer; None if no request failed."""
    if not failed:
        return None
    one = min(failed, key=lambda one: one.sent_s)
    return {
        "request": one.request,
        "answer": one.kind if one.error == NOT_TAKEN else _answer(one),
    }


def _answer(one: Sent) -> int | str:
    return one.status if one.is_answered else one.words or one.kind


def last_words(folder: str) -> str:
    """k6's log on one line."""
    try:
        with open(os.path.join(folder, LOG), encoding="utf-8", errors="replace") as file:
            return " ".join(file.read().split())[-LOG_KEPT:]
    except OSError:
        return ""
