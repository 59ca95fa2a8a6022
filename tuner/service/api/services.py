"""What the API needs from outside: the store, the catalogue, and the newest events."""

import asyncio
import logging
import random
import re
from bisect import bisect_right
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple

from fastapi import Depends
from fastapi import Request as HttpRequest
from fastapi.sse import ServerSentEvent

from tuner.nouns import log_context
from tuner.nouns.errors import Forbidden, NotFound, Unavailable
from tuner.nouns.model import (
    ANYBODY,
    EVENTS_KEPT,
    Action,
    Caller,
    Event,
    EventKind,
    Job,
    JobId,
    JobKind,
    JobSpec,
    Request,
)
from tuner.service.api.callers import Callers, WrongKeys
from tuner.service.api.limited import LimitedStore, limited_catalogue
from tuner.service.api.provider import IdentityProvider
from tuner.service.api.security import caller_of
from tuner.store.db import Store
from tuner.targets.catalogue import HostCatalogue

# ---- The newest events in memory: one task reads them, and every stream has a place among them
#
# A stream that comes back is a stream whose place is older, so there is no seam between what it has
# missed and what is new. Nobody waits for a slow stream: it ends when it is too far behind.

MOST_BEHIND = 1_000  # events that a stream has not sent yet
READY_WITHIN_S = 5.0
READ_AGAIN_S = 5.0
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
        self,
        source: Source | None = None,
        *,
        kept: int = EVENTS_KEPT,
        behind: int = MOST_BEHIND,
        again_s: float = READ_AGAIN_S,
    ) -> None:
        """Without a source there are no streams."""
        self._again_s = again_s
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

    def require_reading(self) -> None:
        """Raise `Unavailable` while events are not read."""
        if self._source is not None and not self._read_once.is_set():
            raise Unavailable("api", "no events are read: its log says why")

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
            new = self._sent[bisect_right(self._sent, last, key=lambda sent: sent.event.id) :]
            if len(new) > most_behind:
                return
            for event, message in new:
                last = event.id
                if is_wanted(event):
                    yield message
            most_behind = self._behind
            await woken.wait()

    async def _read(self, source: Source) -> None:
        """For ever; after a fault anew, and every stream begins with `reset`."""
        while True:
            try:
                async with aclosing(source()) as batches:
                    async for batch in batches:
                        self._keep(batch)
                        self._read_once.set()
                        await self._wake()
                return
            except Exception:
                log.exception("events are not read; trying again")
            self._read_once.clear()
            self._sent.clear()
            self._floor = self._head = 0
            await asyncio.sleep(self._again_s)

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


def _sent(event: Event) -> _Sent:
    data = event.model_dump_json()
    return _Sent(event, ServerSentEvent(id=str(event.id), event=event.kind, raw_data=data))


def _reset(head: int) -> _Sent:
    return _sent(Event(id=head, kind=EventKind.RESET, job=None, pool=None, numbers=()))


_NUMBER = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Handed to `create_app`.

    `resolve` raises `InvalidInput` with every mistake in a request, `require_room` `Unavailable`
    where the disk of the rows is full. `hosts_allowed` are globs of the service's own host names.
    `api_key` is the first key; `caller` is who sends the present request.
    `wrong_key_takes_s` is how long a wrong key waits for its answer: guessing is slow.
    """

    store: Store
    catalogue: HostCatalogue
    resolve: Callable[[Request], JobSpec]
    feed: Feed = field(default_factory=Feed)
    api_key: str | None = field(default=None, repr=False)
    wrong_key_takes_s: float = 0.5
    provider: IdentityProvider | None = None  # of identities; None: people sign in with a key
    wrong_keys: WrongKeys = field(default_factory=WrongKeys, repr=False)
    denials: WrongKeys = field(default_factory=WrongKeys, repr=False)  # by the name of a key
    hosts_allowed: Sequence[str] = ()
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    require_room: Callable[[], None] = lambda: None
    caller: Caller = ANYBODY
    job_minutes: float | None = None  # that a job may take; None: any
    jobs_waiting: int | None = None  # of one key; None: any
    link_days: float = 365  # that a link may last

    @property
    def callers(self) -> Callers | None:
        """Who may send requests; None where the service asks for no key."""
        return Callers(self.api_key, self.store) if self.api_key is not None else None

    @property
    def by(self) -> str | None:
        """The name of who sends the request, for what it changes."""
        return self.caller.name

    def require_theirs(self, app: str) -> None:
        """Refuse an app that the caller's key may not change. Raises `Forbidden`."""
        if not self.caller.may_change(app):
            if self.denials.is_worth_a_row(self.caller.key_name):
                self.store.write_audit(self.by, Action.DENY, f"to change app {app}")
            raise Forbidden(f"this key may change {', '.join(self.caller.apps)}, and not {app}")

    def changed(self, job_id: int) -> JobId:
        """A job that the caller may change. Raises `NotFound`, `Forbidden`."""
        if self.caller.apps:
            self.require_theirs(self.store.app_of(JobId(job_id)))
        return JobId(job_id)

    def tuning_job(self, job_id: int) -> Job:
        """A job of kind tune. Raises `NotFound`, also for a job of another kind."""
        job = self.store.job(JobId(job_id))
        if job.spec.kind is not JobKind.TUNE:
            raise NotFound(f"job {job_id} is of kind {job.spec.kind}: only kind tune has that")
        return job


async def _of_request(request: HttpRequest) -> Services:
    if _NUMBER.fullmatch(job_id := request.path_params.get("id", "")):
        log_context.add(job=int(job_id))
    services: Services = request.app.state.services
    caller = caller_of(request)
    if not caller.reads:
        return replace(services, caller=caller)
    store: Any = LimitedStore(services.store, caller.reads)
    catalogue = limited_catalogue(services.catalogue, caller.reads)
    return replace(services, caller=caller, store=store, catalogue=catalogue)


Wired = Annotated[Services, Depends(_of_request)]
"""An endpoint's parameter for the services of its app."""
