"""Looks at a job until it has ended, through restarts of the service."""

import json
import math
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TypedDict

import httpx

from tuner.nouns.errors import Conflict, TunerError, Unavailable
from tuner.nouns.model import Event, EventKind
from tuner.nouns.schemas import JobAnswer

POLL_S = 1.0
PATIENCE_S = 60.0
"""Time for a restart of the service. Its jobs continue."""


class Watching(TypedDict, total=False):
    """How a job is watched.

    `poll_s`: seconds between two polls, where the service sends no events [1]. `patience_s`:
    longest absence of the service in seconds [60]; each failed poll calls `on_away`. `timeout_s`:
    seconds until `Conflict` is raised for a job that still runs [never].
    """

    poll_s: float
    patience_s: float
    timeout_s: float | None
    on_away: Callable[[Unavailable], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """A clock and a sleep, in seconds."""

    clock: Callable[[], float]
    sleep: Callable[[float], None]


Pause = Callable[[float, float], None]
REAL_TIME = Time(clock=time.monotonic, sleep=time.sleep)


def states(
    look: Callable[[], JobAnswer],
    name: str,
    how: Watching,
    clock: Callable[[], float],
    pause: Pause,
) -> Iterator[JobAnswer]:
    """The first result of `look` and each changed one, up to a final state.

    `pause` gets `poll_s` and the seconds that are left. Raises `Unavailable` if `look` does so for
    longer than `patience_s`, and `Conflict` after `timeout_s`.
    """
    timeout_s = how.get("timeout_s")
    until = math.inf if timeout_s is None else clock() + timeout_s
    known: JobAnswer | None = None
    away_since: float | None = None
    while True:
        try:
            found = look()
        except Unavailable as error:
            away_since = clock() if away_since is None else away_since
            if clock() - away_since > how.get("patience_s", PATIENCE_S):
                raise
            how.get("on_away", _ignore)(error)
        else:
            away_since = None
            if known is None or found != known:
                yield found
            known = found
            if found.state.is_final:
                return
        left_s = until - clock()
        if left_s <= 0:
            raise Conflict(f"{name} goes on: {known.state if known else 'not seen yet'}")
        pause(how.get("poll_s", POLL_S), left_s)


def _ignore(error: Unavailable) -> None:
    """The default of `on_away`."""


# ---- Streams of events: the pauses between two looks at a job, and the events themselves
#
# A proxy may hold a stream back, an older service has none, and every stream breaks some day. So a
# stream only says when to look: who watches a job reads the job, and looks by the clock where there
# is no stream.

OPENED_WITHIN_S = 3.0
"""The service sends something at once: what takes longer is held back on its way."""
SILENT_S = 20.0
"""The service sends something every 15 s."""
AGAIN_AFTER_S = 30.0
"""Between two attempts to open a stream while jobs are polled."""
BACK_AFTER_S = 2.0
"""Between the end of a stream and the next attempt."""
GATHERED_FOR_S = 0.2
"""What changes within that time is one reason to look: a decision may write many rows."""

_KINDS = frozenset(EventKind)


class Stream:
    """One open stream. Whatever reads it raises `Unavailable` where it breaks."""

    def __init__(self, answer: httpx.Response) -> None:
        """Waits for the first bytes."""
        self._answer = answer
        self._chunks = answer.iter_raw()
        network = answer.extensions.get("network_stream")
        self._socket: socket.socket | None = network and network.get_extra_info("socket")
        self._first = self._next()

    def close(self) -> None:
        """Close the connection."""
        self._answer.close()

    def comes(self, within_s: float) -> bool:
        """Whether anything comes within that time."""
        if self._socket is None:  # in tests
            return within_s > 0
        looking = select.poll()
        looking.register(self._socket, select.POLLIN)
        return bool(looking.poll(1000 * within_s))

    def drop(self) -> None:
        """Read what has come, at least something, and forget it."""
        self._next()
        while self.comes(0):
            self._next()

    def events(self) -> Iterator[Event]:
        """The events, until the stream breaks or ends."""
        text = self._first
        while True:
            *lines, text = text.split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    yield _event(line.removeprefix(b"data:"))
            text += self._next()

    def _next(self) -> bytes:
        try:
            return next(self._chunks)
        except StopIteration:
            raise Unavailable("api", "the stream of events has ended") from None
        except httpx.RequestError as error:
            why = str(error) or type(error).__name__
            raise Unavailable("api", f"the stream of events broke: {why}") from error


@dataclass(slots=True)
class Pauses:
    """The pauses between two looks at a job: the next event ends one, or else the time."""

    open: Callable[[], Stream]
    time: Time
    _stream: Stream | None = None
    _opens_at: float = 0.0  # by the clock

    def pause(self, poll_s: float, left_s: float) -> None:
        """Wait for an event, at most `left_s`; without a stream, `poll_s`."""
        if self._stream is None and self.time.clock() >= self._opens_at:
            self._stream = self._opened()
            if self._stream is not None:
                return  # what changed before it was open comes as no event
        if self._stream is None:
            self.time.sleep(min(poll_s, left_s))
            return
        if self._stream.comes(min(SILENT_S, left_s)):
            self.time.sleep(min(GATHERED_FOR_S, left_s))
            with suppress(Unavailable):
                self._stream.drop()
                return
        self.close()
        self._opens_at = self.time.clock() + BACK_AFTER_S

    def close(self) -> None:
        """Close the stream."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _opened(self) -> Stream | None:
        try:
            return self.open()
        except Unavailable:
            self._opens_at = self.time.clock() + AGAIN_AFTER_S
        except TunerError:  # such as 404 of an older service
            self._opens_at = float("inf")
        return None


def events(
    open_after: Callable[[int | None], Stream], last: int | None, time: Time
) -> Iterator[Event]:
    """All events after number `last`, or from now on, over as many streams as it takes.

    Raises `Unavailable` where no stream can be opened for `PATIENCE_S`.
    """
    away_since: float | None = None
    while True:
        try:
            with closing(open_after(last)) as stream:
                for event in stream.events():
                    away_since, last = None, event.id
                    yield event
        except Unavailable:
            now = time.clock()
            away_since = now if away_since is None else away_since
            if now - away_since > PATIENCE_S:
                raise
        time.sleep(BACK_AFTER_S)


def _event(data: bytes) -> Event:
    """The event of a line; `reset` for a kind that only a newer service knows."""
    try:
        found = json.loads(data)
        kind = found["kind"] if found["kind"] in _KINDS else EventKind.RESET
        return Event.model_validate({**found, "kind": kind}, extra="allow")
    except (ValueError, LookupError, TypeError) as error:
        raise Unavailable("api", "what it sent is no event of the tuner") from error
