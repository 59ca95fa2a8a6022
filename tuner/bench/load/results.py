"""What the probe prints, typed; and one run of load in the model's words."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from tuner.bench.measurement import Course, LoadReading
from tuner.bench.measurement.course import CourseFigures
from tuner.bench.measurement.host import (
    Answer,
    Disturbed,
    HostReading,
    ProcessReading,
    QueueReading,
)
from tuner.nouns.errors import Infrastructure
from tuner.nouns.model import Answered, OverTime, ProxyTimes, Spread, extended
from tuner.uwsgi import topology

# ---- What the probe prints, typed: the one place where its JSON becomes ours
#
# A figure that goes into a window as it is has the name that it has there, and is declared there.


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


# ---- One run of load in the model's words: what the probe found, with errors by class

PORTS_EXHAUSTED = "ports_exhausted"
CONNECT_TIMEOUT = "connect_timeout"
READ_TIMEOUT = "read_timeout"
OTHER = "other"

_TIMEOUT = "timeout"  # the client cannot say which of the two it was
_CLASSES = (  # first match wins; the words are oha's, which are hyper's and the kernel's
    ("aborted due to deadline", "deadline"),
    ("os error 111", "refused"),
    ("connection refused", "refused"),
    ("os error 99", PORTS_EXHAUSTED),
    ("cannot assign requested address", PORTS_EXHAUSTED),
    ("before message completed", "early_close"),
    ("error reading a body", "truncated"),
    ("os error 104", "reset"),
    ("os error 32", "reset"),
    ("connection reset", "reset"),
    ("connection error", "reset"),
    ("timeout", _TIMEOUT),
    ("timed out", _TIMEOUT),
)
_NAMES = {name for _, name in _CLASSES} | {CONNECT_TIMEOUT, READ_TIMEOUT, OTHER}


def reading_of(found: WindowFindings, client: str) -> LoadReading:
    """The findings of the probe's `window`; `client` is the name of the load generator.

    Raises `Infrastructure` where the load generator did not come to its end.
    """
    said, before, after = found.client, found.before, found.after
    if said is None:
        raise Infrastructure(_died(found, client))
    overflows = after.listen_overflows - before.listen_overflows
    dropped = overflows + after.syn_drops - before.syn_drops
    errors = by_class(said.errors, queue_was_full=dropped > 0)
    stats_before, stats_after = _stats(before.stats), _stats(after.stats)
    relayed = 0
    if found.is_relayed and stats_before is not None and stats_after is not None:
        relayed = stats_after.requests - stats_before.requests
    return extended(
        LoadReading,
        said.rows,
        started_at=said.started_at or found.started_at,
        wall_s=said.rows.loaded_s,
        sent=said.sent,
        errors_by_class=errors,
        over_limit=said.over_limit,
        connect=said.connect,
        proxy=found.proxy,
        over_time=found.over_time,
        listen_overflows=overflows,
        time_wait=after.time_wait,
        ports_exhausted=PORTS_EXHAUSTED in errors,
        client_cpu_s=found.host.client_s,
        before=stats_before,
        after=stats_after,
        connects=max(0, found.accepted - relayed),
        processes=found.processes,
        queue=found.queue,
        host=found.host,
    )


def course_of(found: WindowFindings, client: str) -> Course:
    """The findings of the probe's `window` over time, with the failures of all kinds.

    Raises `Infrastructure` where the load generator did not come to its end, or could not send.
    """
    said = found.client
    if said is None or said.course is None:
        raise Infrastructure(_died(found, client))
    errors = by_class(said.errors, queue_was_full=False)
    if PORTS_EXHAUSTED in errors:
        raise Infrastructure("the load generator has no free ports left")
    return extended(
        Course,
        said.course,
        started_at=said.started_at or found.started_at,
        sent=said.sent,
        failed=sum(errors.values()),
    )


def by_class(errors: Mapping[str, int], *, queue_was_full: bool) -> dict[str, int]:
    """Errors by class, from classes or from the client's messages.

    oha calls two things `timeout`: where the kernel dropped connections at a full queue it was
    the connect that took too long, else the answer.
    """
    found: dict[str, int] = {}
    for words, number in errors.items():
        name = error_class(words)
        if name == _TIMEOUT:
            name = CONNECT_TIMEOUT if queue_was_full else READ_TIMEOUT
        found[name] = found.get(name, 0) + number
    return dict(sorted(found.items()))


def error_class(message: str) -> str:
    """The class of a client's error message; a class, `http_NNN` and `take_NAME` are their own."""
    if message in _NAMES or message.startswith(("http_", "take_")):
        return message
    lowered = message.lower()
    return next((name for words, name in _CLASSES if words in lowered), OTHER)


def _died(found: WindowFindings, client: str) -> str:
    code, words = found.exit_code, found.client_error.strip()
    how = f"was killed (signal {-code})" if code < 0 else f"failed (exit {code})"
    return f"the load generator {client} {how}" + (f": {words}" if words else "")


def _stats(text: str | None) -> topology.Stats | None:
    if text is None:
        return None
    try:
        return topology.parse(text)
    except ValueError as error:
        raise Infrastructure(f"uWSGI's stats cannot be read: {error}") from error
