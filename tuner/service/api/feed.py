"""The newest events in memory: one task reads them, and every stream has a place among them.

A stream that comes back is a stream whose place is older, so there is no seam between what it has
missed and what is new. Nobody waits for a slow stream: it ends when it is too far behind.
"""

import asyncio
import logging
import random
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import NamedTuple

from fastapi.sse import ServerSentEvent

from tuner.nouns.errors import NotFound, Unavailable
from tuner.nouns.model import EVENTS_KEPT, Event, EventKind

MOST_BEHIND = 1_000  # events that a stream has not sent yet
READY_WITHIN_S = 5.0
AGAIN_AFTER_MS = (1_000, 3_000)
"""Clients of one process that ended come back within this span, not all at one instant."""
WOKEN_AT_ONCE = 4
BETWEEN_S = 0.006
"""Other calls are answered between two groups of streams: 200 streams take 0.3 s."""

Source = Callable[[], AsyncGenerator[Sequence[Event]]]
Wanted = Callable[[Event], bool]

log = logging.getLogger(__name__)


class _Sent(NamedTuple):
    """An event, and what all streams send of it: written once."""

    event: Event
    message: ServerSentEvent


class Feed:
    """The events of one process. `source` gives the newest ones, and then those that are new."""

    def __init__(
        self, source: Source | None = None, *, kept: int = EVENTS_KEPT, behind: int = MOST_BEHIND
    ) -> None:
        """Without a source there are no streams."""
        self._source = source
        self._kept, self._behind = kept, behind
        self._sent: list[_Sent] = []
        self._floor = self._head = 0  # all events after the first are kept, up to the second
        self._read_once = asyncio.Event()
        self._is_stopped = False
        self._streams: set[asyncio.Event] = set()  # each wakes one

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read while the context lasts."""
        if self._source is None:
            yield
            return
        reading = asyncio.create_task(self._read(self._source))
        try:
            yield
        finally:
            self.stop()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    def stop(self) -> None:
        """End all streams: their clients come back to the next process."""
        self._is_stopped = True
        for woken in self._streams:
            woken.set()

    async def ready(self) -> None:
        """Wait until events have been read. Raises `NotFound` or `Unavailable`."""
        if self._source is None:
            raise NotFound("this service sends no events")
        try:
            async with asyncio.timeout(READY_WITHIN_S):
                await self._read_once.wait()
        except TimeoutError as error:
            raise Unavailable("postgresql", "no events have been read yet") from error
        if self._is_stopped:
            raise Unavailable("api", "it no longer sends events")

    @contextmanager
    def stream(
        self, is_wanted: Wanted, last: int | None = None
    ) -> Iterator[AsyncIterator[ServerSentEvent]]:
        """A stream of the wanted events after number `last`.

        It begins with `reset` where that number is unknown, or None.
        """
        woken = asyncio.Event()
        self._streams.add(woken)
        try:
            yield self._messages(woken, is_wanted, -1 if last is None else last)
        finally:
            self._streams.discard(woken)

    async def _messages(
        self, woken: asyncio.Event, is_wanted: Wanted, last: int
    ) -> AsyncIterator[ServerSentEvent]:
        pause_ms = random.randint(*AGAIN_AFTER_MS)  # noqa: S311  no secret
        yield ServerSentEvent(comment="events", retry=pause_ms)
        most_behind = self._kept  # at first, when all that was missed is sent
        while not self._is_stopped:
            woken.clear()
            if not self._floor <= last <= self._head:
                last = self._head
                yield _reset(last).message
            new = self._sent[bisect_right(self._sent, last, key=_number) :]
            if len(new) > most_behind:
                return
            for event, message in new:
                last = event.id
                if is_wanted(event):
                    yield message
            most_behind = self._behind
            await woken.wait()

    async def _read(self, source: Source) -> None:
        try:
            async with aclosing(source()) as batches:
                async for batch in batches:
                    self._keep(batch)
                    self._read_once.set()
                    await self._wake()
        except Exception:
            log.exception("events are no longer read")
            self.stop()
            raise

    def _keep(self, batch: Sequence[Event]) -> None:
        if len(batch) >= self._kept:  # events between the last batch and this one may be missing
            self._sent.clear()
            self._floor = batch[0].id - 1
        self._sent += map(_sent, batch)
        if len(self._sent) > self._kept:
            self._floor = self._sent[-self._kept - 1].event.id
            del self._sent[: -self._kept]
        self._head = self._sent[-1].event.id if self._sent else 0

    async def _wake(self) -> None:
        waiting = list(self._streams)
        for first in range(0, len(waiting), WOKEN_AT_ONCE):
            for woken in waiting[first : first + WOKEN_AT_ONCE]:
                woken.set()
            await asyncio.sleep(BETWEEN_S)


def _number(sent: _Sent) -> int:
    return sent.event.id


def _sent(event: Event) -> _Sent:
    data = event.model_dump_json()
    return _Sent(event, ServerSentEvent(id=str(event.id), event=event.kind, raw_data=data))


def _reset(head: int) -> _Sent:
    return _sent(Event(id=head, kind=EventKind.RESET, job=None, pool=None, numbers=()))
