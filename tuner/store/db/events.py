"""Events: written in the transaction that changes the rows, read in the order of commits.

The trigger in the migration `20261129_tables` sees to the order, and notifies `CHANNEL`.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from functools import partial
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from sqlalchemy import Connection, RowMapping, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from tuner.nouns.errors import Unavailable
from tuner.nouns.model import (
    EVENTS_KEPT,
    Activity,
    Counted,
    Event,
    EventKind,
    JobId,
    MeasurementKind,
    OpenJobs,
    Total,
    Window,
)
from tuner.store.db.engine import Database, conninfo, translated
from tuner.store.db.rows import noun_of
from tuner.store.db.tables import events, is_open, jobs, totals

CHANNEL = "tuner_events"
POLL_S = 5.0
"""A notification may be lost, as behind a pooler: then the events are read so often."""
AGAIN_AFTER_S = 1.0

Changed = Mapping[EventKind, Sequence[int]]
"""What has changed in a job, each with its `Event.numbers`."""

_NEWER = """
SELECT * FROM (SELECT * FROM events WHERE id > %s ORDER BY id DESC LIMIT %s) AS newest ORDER BY id
"""
_oldest_kept = (
    select(events.c.id).order_by(events.c.id.desc()).offset(EVENTS_KEPT - 1).limit(1)
).scalar_subquery()

log = logging.getLogger(__name__)


def write_of_job(connection: Connection, job_id: JobId, changed: Changed) -> None:
    """Write what has changed in a job."""
    rows = [
        {"kind": kind, "job": job_id, "numbers": [*numbers]} for kind, numbers in changed.items()
    ]
    if rows:
        connection.execute(insert(events), rows)


def write_of_pool(connection: Connection, pool: str, kind: EventKind) -> None:
    """Write that the queue or a host of a pool has changed."""
    connection.execute(insert(events), {"kind": kind, "pool": pool})


def trim(connection: Connection) -> None:
    """Delete all but the newest `EVENTS_KEPT`."""
    connection.execute(delete(events).where(events.c.id < _oldest_kept))


async def new_events(url: str) -> AsyncGenerator[Sequence[Event]]:
    """The newest `EVENTS_KEPT` events in batches, and then for ever those that are committed.

    The first batch may be empty: it says that PostgreSQL answers. While PostgreSQL is away, this
    waits; then it goes on after the last event. Before a batch of `EVENTS_KEPT`, some are missing.
    """
    last, is_known_away = 0, False
    while True:
        try:
            async with aclosing(_of_one_connection(url, last)) as batches:
                async for batch in batches:
                    is_known_away = False
                    last = batch[-1].id if batch else last
                    yield batch
        except Unavailable as away:
            if not is_known_away:
                log.warning("no events are read: %s; again every %g s", away, AGAIN_AFTER_S)
            is_known_away = True
        await asyncio.sleep(AGAIN_AFTER_S)


async def _of_one_connection(url: str, last: int) -> AsyncGenerator[Sequence[Event]]:
    """Events after `last`, until the connection ends. The first batch may be empty."""
    with translated():
        connecting = AsyncConnection.connect(conninfo(url), autocommit=True, row_factory=dict_row)
        async with await connecting as connection:
            await connection.execute(f"LISTEN {CHANNEL}".encode())  # first: then nothing is missed
            yield (batch := await _newer(connection, last))
            while True:
                last = batch[-1].id if batch else last
                async for _ in connection.notifies(timeout=POLL_S, stop_after=1):
                    pass
                if batch := await _newer(connection, last):
                    yield batch


async def _newer(connection: AsyncConnection[DictRow], last: int) -> Sequence[Event]:
    values: Sequence[Any] = (last, EVENTS_KEPT)
    found = await connection.execute(_NEWER, values)
    return [Event(**row) for row in await found.fetchall()]


# ---- Totals: a few rows to which each transaction adds what it has done, as its last statement
#
# A scrape of the metrics reads them in place of every window (doubts) and every result (seconds).
# A row of totals stays locked until the commit. So it is the last lock of a transaction, and all
# take these locks in the same order: nobody waits long, and no two wait for each other.

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
