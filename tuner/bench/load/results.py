"""One run of load in the model's words: what the probe found, with errors by class."""

from collections.abc import Mapping

from tuner.bench.load.findings import WindowFindings
from tuner.bench.measurement import Course, LoadReading
from tuner.nouns.errors import Infrastructure
from tuner.nouns.model import extended
from tuner.uwsgi import stats

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


def _stats(text: str | None) -> stats.Stats | None:
    if text is None:
        return None
    try:
        return stats.parse(text)
    except ValueError as error:
        raise Infrastructure(f"uWSGI's stats cannot be read: {error}") from error
