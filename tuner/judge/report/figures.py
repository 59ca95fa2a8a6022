"""One figure: of the windows of one block, and over blocks with its interval."""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from tuner.judge import analysis, objective
from tuner.nouns.model import (
    Figure,
    Histogram,
    Job,
    Measurement,
    Metric,
    OverTime,
    Rung,
    TrialNumber,
    TypicalWindow,
    Window,
    counted,
    rungs,
)

REQUESTS_FOR_P99 = 5_000
"""With fewer, fewer than 50 requests are above the 99th percentile, and it means little."""

MAY_HIDE = -math.log(0.025)
"""Failures that may be expected of a number of requests of which none failed (95 % interval)."""

COMPARED = (
    Metric.THROUGHPUT_RPS,
    Metric.LATENCY_P50_MS,
    Metric.LATENCY_P95_MS,
    Metric.LATENCY_P99_MS,
    Metric.MEMORY_MB,
)
"""What has an effect against the first file. A share of 0 has no ratio."""

SHOWN = (
    Metric.THROUGHPUT_RPS,
    Metric.LATENCY_P50_MS,
    Metric.LATENCY_P95_MS,
    Metric.LATENCY_P99_MS,
    Metric.ERROR_RATE,
    Metric.TARGET_CPU,
    Metric.MEMORY_MB,
    Metric.MEMORY_PEAK_MB,
    Metric.MB_PER_S,
    Metric.CONNECTIONS_PER_REQUEST,
)
"""The figures of each file, in the order of all tables."""

_MAY_BE_0 = (Metric.ERROR_RATE, Metric.CONNECTIONS_PER_REQUEST)
"""They have no logs: the mean, with Student's interval."""

Part = list[Window]
"""The usable windows of one file in one block; at least one."""


def figure_of(metric: Metric, parts: Sequence[Part], rung: Rung | None) -> Figure | None:
    """The figure over blocks; None where no block has it."""
    values = [value for part in parts if (value := value_of(part, metric)) is not None]
    if not values:
        return None
    may_be_0 = metric in _MAY_BE_0
    centre, low, high = _mean(metric, values, parts) if may_be_0 else _centre(values)
    bounded = len(values) > 1
    return Figure(
        metric=metric,
        value=centre,
        ci_low=low if bounded else None,
        ci_high=high if bounded else None,
        rung=rung,
        trimmed_mean=analysis.trimmed_mean(values),
    )


def value_of(windows: Part, metric: Metric) -> float | None:
    """The figure of one block, None where it has none."""
    if metric in _MAY_BE_0:
        known = [value for window in windows if (value := window.value(metric)) is not None]
        return fmean(known) if known else None
    if metric is Metric.MEMORY_PEAK_MB:
        return max(window.value(metric) or 0.0 for window in windows) or None
    if metric is Metric.LATENCY_P99_MS and any(w.requests < REQUESTS_FOR_P99 for w in windows):
        return _p99_of_all(windows)
    level = objective.log_level(windows, metric)
    return None if level is None else math.exp(level)


def errors_of(windows: Iterable[Window]) -> Mapping[str, int]:
    """Failed requests by class."""
    total: Counter[str] = Counter()
    for window in windows:
        total.update(window.errors_by_class)
    return dict(sorted(total.items()))


def _p99_of_all(windows: Part) -> float | None:
    """Single windows have too few requests; all of the block together may have enough.

    The middle of a bucket may be below times in it. p95 is exact, so p99 is at least that.
    """
    pooled = Histogram.merged(window.histogram for window in windows)
    p99 = pooled.percentile_ms(0.99) if pooled.total >= REQUESTS_FOR_P99 else None
    return p99 and max(p99, value_of(windows, Metric.LATENCY_P95_MS) or 0.0)


def _centre(values: Sequence[float]) -> tuple[float, float, float | None]:
    """Robust, by logs; without an upper end where that is beyond all numbers.

    Two very different blocks make it so.
    """
    found = analysis.estimate([math.log(value) for value in values])
    high = math.exp(found.high) if found.high < math.log(1e12) else None
    return math.exp(found.value), math.exp(found.low), high


def _mean(
    metric: Metric, values: Sequence[float], parts: Sequence[Part]
) -> tuple[float, float, float]:
    """Mean of the blocks. Where nothing failed, the upper end is what the requests may hide."""
    low, high = analysis.t_interval(values)
    if metric is Metric.ERROR_RATE:
        requests = sum(window.requests for part in parts for window in part)
        high = min(1.0, high if any(values) else MAY_HIDE / max(1, requests))
    return fmean(values), max(0.0, low), high


# ---- The window that shows how an arm goes: at which load, and which of its windows


def highest(blocks: Sequence[Measurement], order: Iterable[Rung | None]) -> list[Measurement]:
    """The blocks of the last rung that has a series: the same load for every arm."""
    watched = [block for block in blocks if any(map(_is_watched, block.counted))]
    there = {block.block_options.rung for block in watched}
    last = next((rung for rung in reversed([*order]) if rung in there), None)
    return [block for block in watched if block.block_options.rung == last]


def typical(blocks: Sequence[Measurement], number: TrialNumber) -> TypicalWindow | None:
    """The arm's window of median throughput, the lower one of two; None where it has none."""
    found = [
        (block, window)
        for block in blocks
        for window in block.counted_of(number)
        if _is_watched(window)
    ]
    if not found:
        return None
    found.sort(key=lambda each: each[1].throughput_rps)
    block, window = found[(len(found) - 1) // 2]
    return TypicalWindow(
        rung=block.block_options.rung,
        block=block.sequence,
        index=window.index,
        over_time=window.over_time,
    )


def _is_watched(window: Window) -> bool:
    return window.over_time != OverTime()


# ---- The blocks of a comparison one by one, as CSV: a row for each file, rung and block

ERRORS = "errors_"
"""Before the class of an error, in the name of the column that counts it."""


def csv_of(job: Job, measurements: Iterable[Measurement]) -> str:
    """All rows under one line of names. What is unknown is empty.

    There is a column for each class of errors that the job saw.
    """
    rows = list(_rows(job, [one for one in measurements if one.windows]))
    classes = sorted({name for row in rows for name in row if name.startswith(ERRORS)})
    text = io.StringIO()
    writer = csv.DictWriter(text, [*_COLUMNS, *classes], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**dict.fromkeys(classes, 0), **row} for row in rows)
    return text.getvalue()


_COLUMNS = (
    *(
        "job",
        "app",
        "arm",
        "limit_cpus",
        "limit_memory_mb",
        "rung",
        "connections",
        "block",
        "host",
        "started_at",
    ),
    *("windows", "void_windows", "requests", "sent", "errors"),
    *(metric.value for metric in SHOWN),
    "doubts",
)


def _rows(job: Job, blocks: Sequence[Measurement]) -> Iterator[Mapping[str, Any]]:
    for rung in rungs(job.spec.workload):
        own = [block for block in blocks if block.block_options.rung == rung]
        for place, block in enumerate(own, 1):
            for number, variant in enumerate(job.spec.variants):
                windows = block.windows_of(TrialNumber(number))
                if windows:
                    names = {"job": job.id, "app": job.spec.app, "arm": variant.name}
                    box = job.spec.boxes[number]
                    limits = {"limit_cpus": box.cpus, "limit_memory_mb": box.memory_mb}
                    yield {**names, **limits, "rung": rung, "block": place, **_row(block, windows)}


def _row(block: Measurement, windows: list[Window]) -> Mapping[str, Any]:
    """Counts are of all windows, figures of those that are not void."""
    usable = [*counted(windows)]
    figures = {
        metric.value: f"{value:.6g}"
        for metric in SHOWN
        if usable and (value := value_of(usable, metric)) is not None
    }
    return {
        "connections": windows[0].connections,
        "host": block.host,
        "started_at": windows[0].started_at.isoformat(),
        "windows": len(windows),
        "void_windows": len(windows) - len(usable),
        "requests": sum(window.requests for window in windows),
        "sent": sum(window.sent for window in windows),
        "errors": sum(window.errors for window in windows),
        **figures,
        "doubts": " ".join(sorted({doubt for window in windows for doubt in window.doubts})),
        **{f"{ERRORS}{name}": count for name, count in errors_of(windows).items()},
    }
