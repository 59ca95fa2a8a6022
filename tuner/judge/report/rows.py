"""The blocks of a comparison one by one, as CSV: a row for each file, rung and block."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tuner.judge.report.figures import SHOWN, errors_of, value_of
from tuner.nouns.model import Job, Measurement, TrialNumber, Window, rungs

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
    usable = [window for window in windows if not window.is_void]
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
