"""What the probe found around one run of load, in the model's words."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tuner.errors import Infrastructure
from tuner.measurement import LoadReading
from tuner.measurement.host import HostReading, ProcessReading, QueueReading
from tuner.model import Histogram, ProxyTimes, Spread
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


def reading_of(found: Mapping[str, Any], client: str) -> LoadReading:
    """The findings of the probe's `window`, with `client` for the name of the load generator.

    Raises `Infrastructure` where the load generator did not come to its end.
    """
    summary = found["client"]
    if summary is None:
        raise Infrastructure(_died(found, client))
    rows, host = summary["rows"], found["host"]
    before, after = found["before"], found["after"]
    overflows = after["listen_overflows"] - before["listen_overflows"]
    dropped = overflows + after["syn_drops"] - before["syn_drops"]
    errors = by_class(summary["errors"], queue_was_full=dropped > 0)
    return LoadReading(
        started_at=datetime.fromtimestamp(summary.get("started_at") or found["started_at"], UTC),
        duration_s=rows["duration_s"],
        wall_s=rows["loaded_s"],
        sent=summary["sent"],
        requests=rows["requests"],
        errors_by_class=errors,
        latency_p50_ms=rows["latency_p50_ms"],
        latency_p95_ms=rows["latency_p95_ms"],
        latency_p99_ms=rows["latency_p99_ms"],
        client_cpu_s=host["client_s"],
        before=_stats(before["stats"]),
        after=_stats(after["stats"]),
        listen_overflows=overflows,
        time_wait=after["time_wait"],
        ports_exhausted=PORTS_EXHAUSTED in errors,
        stalled=rows["stalled"],
        over_limit=summary["over_limit"],
        connect=_spread(summary["connect"]),
        proxy=_proxy(found["proxy"]),
        series=tuple(rows["series"]),
        histogram=Histogram({int(key): number for key, number in rows["histogram"].items()}),
        processes=ProcessReading(**found["processes"]) if found["processes"] else None,
        queue=QueueReading(**found["queue"]) if found["queue"] else None,
        host=HostReading(
            cpus=host["cpus"],
            busy_s=host["busy_s"],
            steal_s=host["steal_s"],
            own_s=host["own_s"],
            pressure_s=host["pressure_s"],
            wall_s=found["wall_s"],
        ),
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
    """The class of a client's error message; a class and `http_NNN` are their own."""
    if message in _NAMES or message.startswith("http_"):
        return message
    lowered = message.lower()
    return next((name for words, name in _CLASSES if words in lowered), OTHER)


def _died(found: Mapping[str, Any], client: str) -> str:
    code, words = found["exit_code"], str(found["client_error"]).strip()
    how = f"was killed (signal {-code})" if code < 0 else f"failed (exit {code})"
    return f"the load generator {client} {how}" + (f": {words}" if words else "")


def _stats(text: str) -> stats.Stats:
    try:
        return stats.parse(text)
    except ValueError as error:
        raise Infrastructure(f"uWSGI's stats cannot be read: {error}") from error


def _spread(found: Mapping[str, float] | None) -> Spread | None:
    return None if found is None else Spread(**found)


def _proxy(found: Mapping[str, Any] | None) -> ProxyTimes | None:
    if found is None:
        return None
    return ProxyTimes(
        requests=found["requests"],
        by_status=found["by_status"],
        connect=Spread(**found["connect"]),
        header=Spread(**found["header"]),
        response=Spread(**found["response"]),
        request=Spread(**found["request"]),
    )
