"""Lines of access logs → requests: one table of formats.

| format       | time is | duration                                    | the app never saw it if   |
|--------------|---------|---------------------------------------------|---------------------------|
| `uwsgi`      | start   | `msecs`, `micros`: in the app, no queue     | sendfile(), offload()     |
| `combined`   | end     | none                                        |                           |
| `timed`      | end     | s: app `urt` (queue included), whole `rt`   | `urt` is `-`              |
| `numbered`   | unknown | a bare last number: the unit must be given  |                           |
| `traefik`    | start   | ms                                          | no server                 |
| `envoy`      | start   | ms: upstream, else whole                    | UF, UH, ... flags         |
| `alb`        | start   | s: target                                   | no target                 |
| `cloudfront` | end     | s                                           | any result but Miss, Pass |
| `json`       | by keys | by the keys                                 | empty upstream time       |

`own_formats` compiles the user's own `log-format` and `log_format`. (Sources: uWSGI core/logging.c;
nginx's ngx_http_log_module; the documentation of the others.)

Text is latin-1, so every byte has a character. No pattern goes back over more than two fields.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Literal, NamedTuple

STATIC = "static files that the app did not send"
PROXY = "answers of the proxy alone"
CACHED = "cache hits"
GONE = "clients that went away (499)"

Moment = Literal["start", "end", "unknown"]
Family = Literal["uwsgi", "proxy"]
"""Who wrote the line. One request may have a line of each."""


class Request(NamedTuple):
    """What a line says. Seconds; None where the line does not say it."""

    start_s: float | None  # since the epoch; the time of the line where the duration is unknown
    method: str
    uri: str
    status: int
    duration_s: float | None  # in the app where the format knows it, else as the client saw it
    address: str
    agent: str
    away: str | None  # why the app never saw it; empty: it did; None: the line cannot say
    reused: bool | None = None  # whether an earlier request came on this connection
    serial: int = 0  # uWSGI's count of all requests


Read = Callable[[str, int], Request | None]
"""The request of a line from a position on; None for another line."""


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    family: Family
    read: Read


# ---- times and durations

_MONTH_NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES.split(), 1)}
_CLF = re.compile(r"(\d\d)/(\w{3})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)")
_CTIME = re.compile(r"\w{3} (\w{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})")
_NUMBER = re.compile(r"\d{1,17}(?:\.\d{1,9})?")
_FRACTION = re.compile(r"(\.\d{6})\d+")
_known_times: dict[str, float | None] = {}


def epoch_s(text: str) -> float | None:
    """Seconds since the epoch; local time without an offset is read as UTC: differences hold."""
    if text not in _known_times:
        if len(_known_times) > 5000:
            _known_times.clear()
        try:
            _known_times[text] = _epoch_s(text)
        except (ValueError, KeyError, OverflowError):
            _known_times[text] = None
    return _known_times[text]


def _epoch_s(text: str) -> float | None:
    if (found := _CLF.fullmatch(text)) is not None:
        day, month, year, hour, minute, second, sign, hours, minutes = found.groups()
        ahead = timedelta(hours=int(hours), minutes=int(minutes))
        at = datetime(
            int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second),
            tzinfo=timezone(ahead if sign == "+" else -ahead),
        )  # fmt: skip
        return at.timestamp()
    if (found := _CTIME.fullmatch(text)) is not None:
        month, *numbers = found.groups()
        day, hour, minute, second, year = map(int, numbers)
        return datetime(year, _MONTHS[month], day, hour, minute, second, tzinfo=UTC).timestamp()
    if _NUMBER.fullmatch(text):
        number = float(text)  # of this century: the size of a time tells s, ms and µs apart
        return number / (1e6 if number > 1e14 else 1e3 if number > 1e11 else 1)
    at = datetime.fromisoformat(_FRACTION.sub(r"\1", text))
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def sum_s(text: str) -> float | None:
    """nginx's list of seconds, one for each server that was asked: `20.001, 14.570 : 0.1`."""
    try:
        return float(text)
    except ValueError:
        parts = [part for part in re.split(r"[,: ]+", text) if _NUMBER.fullmatch(part)]
        return sum(map(float, parts)) if parts else None


def scaled(unit_s: float) -> Callable[[str], float | None]:
    """Reads a number in this unit as seconds."""

    def seconds(text: str) -> float | None:
        return int(text) * unit_s if text.isdigit() else _times(sum_s(text), unit_s)

    return seconds


def _times(number: float | None, unit_s: float) -> float | None:
    return None if number is None else number * unit_s


def _uwsgi_s(text: str) -> float:
    number, _, unit = text.partition(" ")
    return int(number) * (1e-6 if unit == "micros" else 1e-3)


def _nothing(_text: str) -> None:
    return None


# ---- formats by one pattern

_FIELDS = ("time", "method", "uri", "status", "dur", "whole", "up", "addr", "agent", "reuse", "nth")
_DASH = ("-", "")


def of_pattern(
    pattern: str,
    moment: Moment,
    seconds: Callable[[str], float | None],
    away: Callable[[str], str | None] = lambda _up: None,
    whole: Callable[[str], float | None] = sum_s,
) -> Read:
    """Reads by the named groups of `_FIELDS`; `whole` is the time between a start and an end."""
    missing = "".join(f"(?P<{name}>)" for name in _FIELDS if f"(?P<{name}>" not in pattern)
    match = re.compile(pattern + r"\s*" + missing).fullmatch
    ends = moment == "end"

    def read(line: str, at: int) -> Request | None:
        found = match(line, at)
        if found is None:
            return None
        time, method, uri, status, dur, all_, up, addr, agent, reuse, nth = found.group(*_FIELDS)
        start_s = epoch_s(time)
        duration_s = seconds(dur) if dur else None
        if ends and start_s is not None:
            start_s -= (whole(all_) if all_ else duration_s) or 0.0
        return Request(
            start_s, method, uri, int(status), duration_s, addr, agent or "", away(up or ""),
            reuse.isdigit() and int(reuse) > 1 if reuse else None, int(nth) if nth else 0,
        )  # fmt: skip

    return read


_QUOTED = r'"(?:[^"\\]|\\.)*+"'
_AGENT = r'"(?P<agent>(?:[^"\\]|\\.)*+)"'
_REQUEST = r'"(?P<method>[A-Z]++) (?P<uri>(?:[^"\\ ]|\\.)*+)(?: HTTP/[\d.]++)?"'
_HEAD = r"(?P<addr>[^\s\"]++) \S++ [^\[]*?\[(?P<time>[^\]]++)\] " + _REQUEST
_COMMON = rf"{_HEAD} (?P<status>\d{{3}}) (?:\d++|-) {_QUOTED} {_AGENT}"

_UWSGI = (
    r"(?:\{[^}]*+\} )*+(?:[^\s\[]++ )?\[pid: \d++\|app: -?\d++\|req: -?\d++/"
    r"(?P<nth>\d++)\] (?P<addr>[^()]*) \([^)]*+\) \{\d++ vars in \d++ bytes\}"
    r" \[(?P<time>[^\]]{24})\] (?P<method>[A-Z]++) (?P<uri>.*) => generated \d++ bytes in"
    r" (?P<dur>\d++ (?:msecs|micros))(?P<up> via \w++\(\))?+ \([^\s)]++ (?P<status>\d++)\)"
    r" \d++ headers in \d++ bytes \(\d++ switches on core \d++\)"
)
_TIMED = _COMMON + r' rt=(?P<whole>[\d.]++) uct="[^"]*+" uht="[^"]*+" urt="(?P<up>(?P<dur>[^"]*+))"'
_TRAEFIK = _COMMON + r' \d++ "[^"]*+" "(?P<up>[^"]*+)" (?P<dur>\d++)ms'
_ENVOY = (
    r'\[(?P<time>[^\]]++)\] "(?P<method>[A-Z]++) (?P<uri>[^\s"]++) [^\s"]++" (?P<status>\d++)'
    r' (?P<up>\S++) \d++ \d++ (?P<dur>\d++ [\d-]++) "(?P<addr>[^",]*+)[^"]*+" "(?P<agent>[^"]*+)"'
    r' "[^"]*+" "[^"]*+" "[^"]*+"'
)
_ALB = (
    r"(?:https?|h2|grpcs|wss?) \S++ \S++ (?P<addr>\S+):\d++ (?P<up>\S++) \S++ (?P<dur>\S++) \S++"
    r' (?P<status>\d{3}|-) \S++ \d++ \d++ "(?P<method>[A-Z]++) (?P<uri>\S++) [^"]*+" '
    + _AGENT
    + r' \S++ \S++ \S++ "[^"]*+" "[^"]*+" "[^"]*+" \S++ (?P<time>\d{4}-\S++) ".*+'
)


def _unasked(up: str) -> str:
    return PROXY if up in _DASH else ""


def _without_server(up: str) -> str | None:
    return PROXY if up in _DASH else None  # the server may be another proxy


def _sent_by_uwsgi(up: str) -> str:
    return STATIC if "sendfile" in up or "offload" in up else ""


def _envoy_s(text: str) -> float | None:
    whole, _, upstream = text.partition(" ")
    return int(upstream if upstream.isdigit() else whole) / 1000


def _envoy_away(flags: str) -> str | None:
    return PROXY if {"UF", "UH", "NR", "RL", "UO"} & set(flags.split(",")) else None


# ---- CloudFront: columns by name

_EDGE_TEXT = """
date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer)
cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header
cs-protocol cs-bytes time-taken
"""
_EDGE = _EDGE_TEXT.split()


def _cloudfront() -> Read:
    names = list(_EDGE)

    def read(line: str, at: int) -> Request | None:
        if line.startswith("#Fields:", at):
            names[:] = line[at:].split()[1:]
            return None
        if line.count("\t", at) != len(names) - 1:
            return None
        row = dict(zip(names, line[at:].rstrip("\r").split("\t"), strict=True))
        try:
            duration_s = float(row["time-taken"])
            end_s = epoch_s(f"{row['date']}T{row['time']}+00:00")
            query = row.get("cs-uri-query", "-").replace("%25", "%")
            uri = row["cs-uri-stem"] + ("" if query == "-" else f"?{query}")
            away = None if row.get("x-edge-result-type", "Miss") in ("Miss", "Pass") else CACHED
            start_s = None if end_s is None else end_s - duration_s
            return Request(
                start_s, row["cs-method"], uri, int(row["sc-status"]), duration_s, row["c-ip"],
                row.get("cs(User-Agent)", ""), away,
            )  # fmt: skip
        except (KeyError, ValueError):
            return None

    return read


# ---- JSON: by the names of the keys

_KEYS: Mapping[str, tuple[str, ...]] = {
    "method": ("method", "request_method", "RequestMethod"),
    "uri": ("request_uri", "uri", "path", "RequestPath", "url"),
    "status": ("status", "response_status", "OriginStatus", "DownstreamStatus", "status_code"),
    "time": (
        "StartUTC",
        "time",
        "timestamp",
        "ltime",
        "time_iso8601",
        "time_local",
        "msec",
        "ts",
        "@timestamp",
    ),
    "addr": ("addr", "address", "remote", "remote_addr", "ClientHost", "client", "ip"),
    "agent": ("uagent", "agent", "user_agent", "http_user_agent", "request_User-Agent"),
    "whole": ("rt", "request_time"),
    "up": ("urt", "upstream_response_time"),
    "request": ("request",),
}
_UNITS_S: Mapping[str, float] = {
    "OriginDuration": 1e-9, "Duration": 1e-9, "duration_in_ms": 1e-3, "rs_time_ms": 1e-3,
    "res_time_ms": 1e-3, "duration_ms": 1e-3, "msecs": 1e-3, "micros": 1e-6, "duration_us": 1e-6,
    "secs": 1.0, "duration_s": 1.0,
}  # fmt: skip
_WITHOUT_UNIT = ("response_time", "duration", "took", "elapsed")


_decoded = json.JSONDecoder().raw_decode  # `json.loads` takes twice the time of a short line


def _json(of: Callable[[Mapping[str, Any]], Request | None]) -> Read:
    def read(line: str, at: int) -> Request | None:
        if not line.startswith("{", at):
            return None
        try:
            text = line[at:] if at else line
            if not text.isascii():
                text = text.encode("latin-1").decode("utf-8", "replace")
            found, end = _decoded(text)
        except (ValueError, RecursionError):
            return None
        is_whole = isinstance(found, dict) and (end == len(text) or text[end:].isspace())
        return of(found) if is_whole else None

    return read


@lru_cache(256)
def _places(keys: tuple[str, ...]) -> tuple[str | None, ...]:
    """The key of each field of `_KEYS`, in its order, in objects with these keys."""
    return tuple(next((n for n in names if n in keys), None) for names in _KEYS.values())


def _of_object(found: Mapping[str, Any], unit_s: float | None) -> Request | None:
    values = [None if key is None else found[key] for key in _places(tuple(found))]
    method, uri, status, time, addr, agent, whole, up, request = values
    if isinstance(request, str) and " " in request:
        method, _, rest = request.partition(" ")
        uri = rest.rpartition(" HTTP/")[0] or rest
    text = str(status)
    if not isinstance(method, str) or not method.isupper() or not uri or not text.isdigit():
        return None
    at_s = float(time) if type(time) is float else epoch_s(str(time))
    away = None if up is None else _unasked(str(up))
    asked = whole if up in (None, *_DASH) else up
    duration_s = _json_s(found, unit_s) if asked is None else sum_s(str(asked))
    if at_s is not None and asked is not None:  # nginx's names: the time is the end
        at_s -= sum_s(str(asked if whole is None else whole)) or 0.0
    uri = str(uri)
    if not uri.isascii():
        uri = uri.encode("utf-8", "replace").decode("latin-1")
    return Request(
        at_s, method, uri, int(text), duration_s, str(addr or ""), str(agent or ""), away
    )


@lru_cache(256)
def _timed_by(keys: tuple[str, ...]) -> tuple[str | None, float | None]:
    """The key of the duration and its unit; no unit where the name does not say it."""
    named = next(((key, unit) for key, unit in _UNITS_S.items() if key in keys), None)
    return named or (next((key for key in _WITHOUT_UNIT if key in keys), None), None)


def _json_s(found: Mapping[str, Any], unit_s: float | None) -> float | None:
    """A key that names its unit; else the given unit; else decimals, which only seconds have."""
    key, named_s = _timed_by(tuple(found))
    if key is None:
        return None
    value = found[key]
    if type(value) is float:
        return value * (named_s or unit_s or 1.0)
    text = str(value)
    unit_s = named_s or unit_s or (1.0 if "." in text else None)
    return None if unit_s is None else _times(sum_s(text), unit_s)


# ---- the table


def known_formats(unit_s: float | None = None) -> tuple[Format, ...]:
    """The formats in the order in which a line is tried; `unit_s` is that of a bare number."""
    uwsgi = of_pattern(_UWSGI, "start", _uwsgi_s, _sent_by_uwsgi)
    numbered = _nothing if unit_s is None else scaled(unit_s)
    bare = rf"(?:[^\s:]++:\d++ )?{_COMMON} (?P<dur>\d++)"
    # nginx and uWSGI write decimals only for seconds; nginx's upstream time is the last one.
    decimals = _COMMON + r' "?(?P<whole>\d++\.\d{3})"?(?: "?(?P<up>(?P<dur>[\d.,: -]++))"?)?'
    return (
        Format("uwsgi", "uwsgi", uwsgi),
        Format("combined", "proxy", of_pattern(_COMMON, "end", _nothing)),
        Format("timed", "proxy", of_pattern(_TIMED, "end", sum_s, _unasked)),
        Format(
            "timed",
            "proxy",
            of_pattern(decimals, "end", sum_s, lambda up: _unasked(up) if up else None),
        ),
        Format("numbered", "proxy", of_pattern(bare, "unknown", numbered)),
        Format("traefik", "proxy", of_pattern(_TRAEFIK, "start", scaled(0.001), _without_server)),
        Format("envoy", "proxy", of_pattern(_ENVOY, "start", _envoy_s, _envoy_away)),
        Format("alb", "proxy", of_pattern(_ALB, "start", sum_s, _without_server)),
        Format("json-msg", "uwsgi", _json(lambda found: uwsgi(str(found.get("msg", "")), 0))),
        Format("json", "proxy", _json(lambda found: _of_object(found, unit_s))),
        Format("cloudfront", "proxy", _cloudfront()),
    )
