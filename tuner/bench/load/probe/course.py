"""How a run of load went over time: what a scene does to it."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tuner.bench.load.probe import rows
from tuner.bench.load.probe.rows import SERIES_STEP_S, Row


def asked(found: Sequence[Row], task: dict[str, Any]) -> dict[str, Any] | None:
    """The course of a run, if its task says when an answer is late; it costs CPU."""
    if task.get("late_s") is None:
        return None
    is_closed = task["connections"] is not None
    return course(found, limit_s=task["late_s"], length_s=task["length_s"], is_closed=is_closed)


def course(
    found: Sequence[Row], *, limit_s: float, length_s: float, is_closed: bool
) -> dict[str, Any]:
    """A `Course` (`tuner.bench.measurement`): failures have no time of their own.

    A connection of a closed loop waits for its answer and sends nothing meanwhile. One long wait
    stands for the requests that it would have sent at its usual pace, and each is late by what
    is left of the wait.
    """
    waits = [(due, end - due) for due, _, end, ok in found if ok]
    pace_s = rows.percentile(sorted(wait for _, wait in waits), 0.5) if is_closed else None
    return {
        "late": sum(late_of(wait, limit_s, pace_s) for _, wait in waits),
        "unsent": sum(late_of(wait, 0.0, pace_s) - 1 for _, wait in waits if wait > limit_s),
        "longest_gap_s": longest_gap_s([end for _, _, end, ok in found if ok], length_s),
        "steps": steps(waits, length_s),
    }


def late_of(wait_s: float, limit_s: float, pace_s: float | None) -> int:
    """How many requests one wait makes late; `pace_s` is None where each is sent when due."""
    if wait_s <= limit_s:
        return 0
    return 1 + math.floor((wait_s - limit_s) / pace_s) if pace_s else 1


def longest_gap_s(ends: list[float], length_s: float) -> float:
    """The longest time without an answer, from the start of the load to its planned end."""
    times = [0.0, *sorted(end for end in ends if end < length_s), length_s]
    return max(later - earlier for earlier, later in pairwise(times))


def steps(waits: Sequence[tuple[float, float]], length_s: float) -> list[dict[str, Any]]:
    """Of each quarter of a second: how many of the requests that were due then were answered."""
    groups: list[list[float]] = [[] for _ in range(math.ceil(length_s / SERIES_STEP_S))]
    for due, wait in waits:
        if 0 <= due < length_s:
            groups[int(due / SERIES_STEP_S)].append(1000 * wait)
    return [
        {"answered": len(group), "p95_ms": rows.percentile(sorted(group), 0.95)} for group in groups
    ]
