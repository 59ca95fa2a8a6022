"""What the probe prints, typed: the one place where its JSON becomes ours.

A figure that goes into a window as it is has the name that it has there, and is declared there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from tuner.bench.measurement.course import CourseFigures
from tuner.bench.measurement.host import (
    Answer,
    Disturbed,
    HostReading,
    ProcessReading,
    QueueReading,
)
from tuner.nouns.model import Answered, OverTime, ProxyTimes, Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What uWSGI and the network namespace count, at one instant. `stats` is uWSGI's own JSON."""

    stats: str | None  # None for another server
    listen_overflows: int
    syn_drops: int
    time_wait: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFindings(HostReading):
    """The host over one run; `client_s` is the CPU time of load generator and proxy."""

    client_s: float


@dataclass(frozen=True, kw_only=True)
class Rows(Answered):
    """The requests of one run; `loaded_s` is the time from the first request to the last answer."""

    loaded_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRequest:
    """The first request of a journey that failed: its index, and a status or a few words."""

    request: int
    answer: int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFindings:
    """What the load generator says of one run. `errors` are by class or by its own message."""

    rows: Rows
    sent: int
    errors: Mapping[str, int]
    over_limit: float | None
    connect: Spread | None
    started_at: datetime | None = None
    first_failed: FailedRequest | None = None
    course: CourseFigures | None = None  # only if it was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFindings:
    """One run of load. `client` is None where the load generator did not come to its end."""

    before: Counters
    after: Counters
    exit_code: int
    client: ClientFindings | None
    client_error: str
    started_at: datetime
    accepted: int  # TCP connections, by whatever listens in the network namespace
    is_relayed: bool  # router or proxy open one of them to uWSGI's workers for each request
    host: HostFindings
    processes: ProcessReading | None
    queue: QueueReading | None
    proxy: ProxyTimes | None
    over_time: OverTime


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """The processes of uWSGI: all, those that take requests, those asleep, those replaced."""

    processes: int
    accepting: int
    cheap: int
    respawns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """`ready`, `crash_loop`, `errors_only` or `timeout`, with what was seen last."""

    outcome: str
    stats: Census | None
    answer: int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAlive:
    """What became of a connection after one request; `probe.trials.keepalive` has the outcomes."""

    outcome: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """The users of uWSGI's processes, and of a worker's files in /proc, by number."""

    master: int
    worker: int
    file: int


WINDOW = TypeAdapter(WindowFindings)
DISTURBED = TypeAdapter(Disturbed)
OWNERS = TypeAdapter(Owners)
READY = TypeAdapter(Readiness)
TRY_EACH = TypeAdapter(list[Answer])
KEEP_ALIVE = TypeAdapter(list[KeptAlive])
ROUND_TRIPS = TypeAdapter(dict[str, float])
