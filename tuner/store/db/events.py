"""Events: written in the transaction that changes the rows, read in the order of commits.

The trigger in the migration `20261125_events` sees to the order, and notifies `CHANNEL`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.postgresql import insert

from tuner.nouns.errors import Unavailable
from tuner.nouns.model import EVENTS_KEPT, Event, EventKind, JobId
from tuner.store.db.engine import conninfo, translated
from tuner.store.db.tables import events

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
