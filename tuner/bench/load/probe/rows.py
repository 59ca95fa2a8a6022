"""The figures of a window from the single requests, as the client saw them.

A row is `(due_s, sent_s, end_s, ok)`: when the request was due (in a closed loop: sent), when it
was sent and when it was answered, in seconds since the load began; `ok` is whether it was answered
as expected. A request that was never answered has no row.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

Row = tuple[float, float, float, bool]

SERIES_STEP_S = 0.25
SUB_BUCKETS = 128
MOST_REQUESTS = 50  # of a workload have figures of their own
BEYOND_CHANCE = 100  # so often must chance leave out fewer connections before it is ruled out


def summary(
    rows: Iterable[Row],
    *,
    head_s: float,
    length_s: float,
    connections: int | None = None,
    unanswered: int = 0,
    given_up_ms: Iterable[float] = (),
) -> dict[str, Any]:
    """The figures from `head_s` to `length_s`.

    Their names are those of `tuner.nouns.model.Answered`. `connections` is set for a closed loop:
    `stalled` needs it. `unanswered` counts the requests that timed out: they have no row.
    `given_up_ms` are latencies of those that users gave up, which count among the others.
    """
    found = list(rows)
    ends = [end for _, _, end, ok in found if ok]
    times_ms = sorted([*latencies_ms(found, head_s, length_s), *given_up_ms])
    stalled = 0
    if connections is not None:
        stalled = starved(found, head_s, length_s, connections, unanswered)
    return {
        "answered": len(found),
        "requests": sum(head_s <= end <= length_s for end in ends),
        "duration_s": length_s - head_s,
        "loaded_s": max([length_s, *(end for _, _, end, _ in found)]),
        "latency_p50_ms": percentile(times_ms, 0.50),
        "latency_p95_ms": percentile(times_ms, 0.95),
        "latency_p99_ms": percentile(times_ms, 0.99),
        "histogram": {"counts": histogram(times_ms)},
        "series": series(ends, length_s),
        "stalled": stalled,
    }


def one_request(
    rows: Iterable[Row],
    *,
    head_s: float,
    length_s: float | None,
    given_up_ms: Iterable[float] = (),
    **more: Any,
) -> dict[str, Any]:
    """`tuner.nouns.model.RequestFigures` of the answers to one request; `more` are its counts.

    Successes count from `head_s` to `length_s`, as in `summary`.
    """
    ends_s = math.inf if length_s is None else length_s
    times_ms = sorted([*latencies_ms(rows, head_s, ends_s), *given_up_ms])
    return {**more, **(spread(times_ms) or {}), "histogram": {"counts": histogram(times_ms)}}


def latencies_ms(rows: Iterable[Row], head_s: float, length_s: float) -> list[float]:
    """Latencies of the successful requests that were due in between, in order."""
    return sorted(1000 * (end - due) for due, _, end, ok in rows if ok and head_s <= due < length_s)


def percentile(ordered: list[float], share: float) -> float | None:
    """The smallest of the values that `share` of them do not exceed; None where there is none."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def spread(times_ms: list[float]) -> dict[str, float | None] | None:
    """Median, 95th percentile and maximum; None of nothing."""
    if not times_ms:
        return None
    ordered = sorted(times_ms)
    p50, p95 = percentile(ordered, 0.50), percentile(ordered, 0.95)
    return {"p50_ms": p50, "p95_ms": p95, "max_ms": ordered[-1]}


def histogram(times_ms: Iterable[float]) -> dict[int, int]:
    """How many times fall into each bucket of `tuner.nouns.model.windows.Histogram`."""
    counts: Counter[int] = Counter()
    for us, number in Counter(round(1000 * time) for time in times_ms).items():
        counts[bucket(us)] += number
    return dict(counts)


def bucket(us: int) -> int:
    """Below 128 us the number itself; above, the power of two and the next 7 bits."""
    if us < SUB_BUCKETS:
        return max(0, us)
    shift = us.bit_length() - 8
    return (shift + 1) * SUB_BUCKETS + (us >> shift) - SUB_BUCKETS


def series(ends: Iterable[float], length_s: float) -> list[int]:
    """How many came in each quarter of a second; what comes after `length_s` is dropped."""
    steps = max(1, math.ceil(length_s / SERIES_STEP_S - 1e-9))
    counts = Counter(int(end / SERIES_STEP_S) for end in ends if end < length_s)
    return [counts[step] for step in range(steps)]


def starved(
    rows: list[Row], head_s: float, length_s: float, connections: int, unanswered: int
) -> int:
    """Connections that waited for one answer through the whole stretch while others got many.

    Rows do not say which connection they came on. Two bounds do: a connection that got nothing
    has one request from before the stretch to after its end, or into its time out; and it is
    never among those whose requests are both under way at some instant and answered in time.

    Where all are slow nobody is starved. Were the answers handed out by lot, of n connections
    n * exp(-k) would get none, k being how often a served one was served again within the
    stretch. Only what is far beyond that counts: on a server that takes longer than the stretch
    for everyone k is 0. A rare slow request amid fast ones does count: the stretch cannot show it.
    """
    waiting = unanswered + sum(sent < head_s and end >= length_s for _, sent, end, _ in rows)
    if waiting == 0:
        return 0
    in_time = [row for row in rows if head_s <= row[2] < length_s]
    bound = min(waiting, connections - most_at_once(in_time))
    if bound <= 0:
        return 0
    again = sum(sent >= head_s for _, sent, _, _ in in_time)
    by_chance = connections * math.exp(-again / max(1, connections - bound))
    return bound if bound > BEYOND_CHANCE * by_chance else 0


def most_at_once(rows: Iterable[Row]) -> int:
    """How many requests were under way at the same instant at most."""
    # An end sorts before a beginning at the same instant: one connection does both.
    events = sorted(event for _, sent, end, _ in rows for event in ((sent, 1), (end, 0)))
    under_way = most = 0
    for _, begins in events:
        under_way += 1 if begins else -1
        most = max(most, under_way)
    return most


# ---- How a run of load went over time: what a scene does to it


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
    pace_s = percentile(sorted(wait for _, wait in waits), 0.5) if is_closed else None
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
    """For each quarter of a second: how many of the requests that were due then were answered."""
    groups: list[list[float]] = [[] for _ in range(math.ceil(length_s / SERIES_STEP_S))]
    for due, wait in waits:
        if 0 <= due < length_s:
            groups[int(due / SERIES_STEP_S)].append(1000 * wait)
    return [{"answered": len(group), "p95_ms": percentile(sorted(group), 0.95)} for group in groups]
