"""Totals: a few rows to which each transaction adds what it has done, as its last statement.

A scrape of the metrics reads them in place of every window (doubts) and every result (seconds).
A row of totals stays locked until the commit. So it is the last lock of a transaction, and all
take these locks in the same order: nobody waits long, and no two wait for each other.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select
from sqlalchemy.dialects.postgresql import insert

from tuner.nouns.model import (
    Activity,
    Counted,
    JobId,
    MeasurementKind,
    OpenJobs,
    Total,
    Window,
)
from tuner.store.db.engine import Database
from tuner.store.db.rows import noun_of
from tuner.store.db.tables import is_open, jobs, totals

_oldest_s = func.extract("epoch", func.now() - func.min(jobs.c.created_at))
_OPEN = (
    select(jobs.c.pool, jobs.c.state, func.count().label("count"), _oldest_s.label("oldest_s"))
    .where(is_open)
    .group_by(jobs.c.pool, jobs.c.state)
)


def add(connection: Connection, found: Iterable[Total]) -> None:
    """Add to the totals; the caller's transaction does nothing else that could wait."""
    rows: list[dict[str, Any]] = sorted(map(asdict, found), key=_key)
    new = insert(totals).values(rows)
    connection.execute(
        new.on_conflict_do_update(
            index_elements=totals.primary_key.columns,
            set_={"value": totals.c.value + new.excluded.value},
        )
    )


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["counted"], row["pool"], sorted(row["labels"].items())


def of_start(connection: Connection, job_id: JobId, pool: str) -> tuple[Total, ...]:
    """What a job that has just started adds."""
    waited = func.extract("epoch", jobs.c.started_at - jobs.c.created_at)
    waited_s = float(connection.execute(select(waited).where(jobs.c.id == job_id)).scalar_one())
    return (
        Total(counted=Counted.JOBS_STARTED, pool=pool),
        Total(counted=Counted.WAITED_S, pool=pool, value=max(0.0, waited_s)),
    )


def of_measurement(row: RowMapping, pool: str, windows: Sequence[Window]) -> Iterator[Total]:
    """What a measurement adds that has ended; `row` is its row."""
    counting = partial(Total, pool=pool)
    took_s = (row["finished_at"] - row["started_at"]).total_seconds()
    load_s = row["result"]["load_s"] if row["result"] else 0.0
    yield counting(counted=Counted.MEASURED_S, value=max(0.0, took_s))
    yield counting(counted=Counted.LOAD_S, value=load_s)
    yield counting(counted=Counted.WINDOWS, value=len(windows))
    if row["kind"] == MeasurementKind.BLOCK:
        labels = {"phase": row["phase"], "state": row["state"]}
        yield counting(counted=Counted.BLOCKS, labels=labels)
    doubts = Counter(doubt for window in windows for doubt in window.doubts)
    for doubt, count in doubts.items():
        yield counting(counted=Counted.DOUBTS, value=count, labels={"doubt": doubt})


class Totals(Database):
    """The store's call about all jobs together."""

    def activity(self) -> Activity:
        """Two statements: the rows of totals, and the open jobs by a partial index."""
        with self._transaction() as connection:
            found = connection.execute(select(totals)).mappings()
            counted = tuple(noun_of(Total, row) for row in found)
            waiting = connection.execute(_OPEN).mappings()
            open_jobs = tuple(noun_of(OpenJobs, row) for row in waiting)
        return Activity(totals=counted, open_jobs=open_jobs)
