"""The http router: uWSGI's own process in front of its workers."""

from collections.abc import Iterator

from tuner.model import BYTES_PER_MB
from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import is_dynamic, quoted, removed
from tuner.uwsgi.lint.rules_meaning.addresses import address_of
from tuner.uwsgi.lint.rules_meaning.certain import (
    added,
    always,
    is_absent,
    is_off,
    number,
    positive,
)
from tuner.uwsgi.lint.rules_meaning.examples import app_on
from tuner.uwsgi.lint.subject import Entry, Subject

_SOCKETS = ("socket", "http-socket", "http11-socket", "fastcgi-socket", "scgi-socket", "raw-socket")
_BACKENDS = (
    "http-to", "http-use-cache", "http-use-pattern", "http-use-base", "http-use-code-string",
    "http-use-socket", "http-subscription-server", "http-fallback", "http-zerg",
)  # fmt: skip
_DEFAULT_TIMEOUT_S = 60
_FULL_TABLE = 1_000_000
_TABLE_SLOT_BYTES = 8


def _router(subject: Subject) -> Entry | None:
    routers = always(subject, "http")
    return routers[0] if routers else None


def _http_behind_http(subject: Subject) -> Iterator[Hit]:
    router, sockets = _router(subject), subject.named(*_SOCKETS)
    if router is None or not sockets or not is_absent(subject, *_BACKENDS):
        return
    first = sockets[0]
    by_protocol = first.name == "socket" and any(
        entry.value in {"http", "http11"} for entry in always(subject, "protocol")
    )
    if first.line.conditional or (first.name == "socket" and not by_protocol):
        return
    yield Hit(
        line=first.number,
        message=f"{router.key} in line {router.number} passes requests to the first socket, and "
        f"speaks uwsgi to it: {first.key} does not understand that, so every request fails",
        fix=Fix(sentence=f"keep one of the two, or put `socket = 127.0.0.1:0` above {first.key}"),
    )


def _router_to_nowhere(subject: Subject) -> Iterator[Hit]:
    sockets = subject.named(*_SOCKETS)
    if any(is_dynamic(socket.value) or socket.value.startswith("=") for socket in sockets):
        return
    bound = [address for socket in sockets if (address := address_of(socket.value))]
    for entry in always(subject, "http-to"):
        target = None if is_dynamic(entry.value) else address_of(entry.value)
        is_here = target and (target.path or target.host in {"", "127.0.0.1", "localhost"})
        if target and is_here and not any(target.clashes(address) for address in bound):
            yield Hit(
                line=entry.number,
                message=f"the router passes requests to {quoted(entry.value)}, and no socket of "
                "this file has that address",
                fix=Fix(sentence=f"bind it: `socket = {entry.value}`"),
            )


def _options_without_router(subject: Subject) -> Iterator[Hit]:
    if not is_absent(subject, "http", "https", "http2", "http-subscription-server"):
        return
    for entry in subject.entries:
        if entry.option and entry.name in _ROUTER_ONLY:
            yield Hit(
                line=entry.number,
                message=f"{entry.key} is an option of the http router, and this file has none: it "
                "does nothing",
                fix=removed([entry.number], "leave it away", is_safe=True),
            )


_ROUTER_ONLY = frozenset(
    {
        "http-auto-chunked", "http-auto-gzip", "http-buffer-size", "http-connect-timeout",
        "http-events", "http-headers-timeout", "http-keepalive", "http-manage-expect",
        "http-processes", "http-raw-body", "http-timeout", "http-to", "http-websockets",
    }
)  # fmt: skip


def _router_gives_up_first(subject: Subject) -> Iterator[Hit]:
    harakiri = positive(subject, "harakiri")
    timeout = number(subject, "http-timeout", default=_DEFAULT_TIMEOUT_S)
    if _router(subject) is None or harakiri is None or not timeout:
        return
    allowed = as_int(harakiri.value)
    if allowed > timeout:
        yield Hit(
            line=harakiri.number,
            message=f"the router gives up after {timeout} s while the worker may go on to "
            f"{allowed} s: clients see a closed connection, and the work is done for nobody",
            fix=added(subject, f"http-timeout = {allowed}"),
        )


def _large_table(subject: Subject) -> Iterator[Hit]:
    router, nofile = _router(subject), subject.box.nofile
    most = number(subject, "max-fd", default=0)
    if router is None or nofile is None or most is None:
        return
    slots = most or nofile
    if slots >= _FULL_TABLE:
        megabytes = slots * _TABLE_SLOT_BYTES // BYTES_PER_MB
        yield Hit(
            line=router.number,
            message=f"each router process fills a table of {slots} file descriptors at its start: "
            f"{megabytes} MB",
            fix=added(subject, "max-fd = 65536"),
        )


def _closes_without_length(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "http-keepalive")
    if entry and _router(subject) and is_off(subject, "http-auto-chunked"):
        yield Hit(
            line=entry.number,
            message="the router still closes after every answer that has no Content-Length",
            fix=added(subject, "http-auto-chunked = true"),
        )


RULES = (
    Rule(
        id="U065",
        name="http-with-http-socket",
        severity=Severity.ERROR,
        why="The http router speaks uwsgi to the first socket of the file. Where that one speaks "
        "HTTP itself, every request through the router fails.",
        example=app_on("http = :8000", "http-socket = :8001"),
        better=app_on("http = :8000", "processes = 2"),
        evidence="2.0.31: the connection is closed without an answer; with `socket = :3031` above "
        "the http-socket the same request gets its 200 (plugins/http/http.c:1062: socket 0).",
        look=_http_behind_http,
    ),
    Rule(
        id="U066",
        name="router-to-nowhere",
        severity=Severity.WARNING,
        why="With `http-to` the router asks that address alone. Where nobody listens there, every "
        "request fails.",
        example=app_on("http = :8000", "socket = 127.0.0.1:3031", "http-to = 127.0.0.1:3030"),
        better=app_on("http = :8000", "socket = 127.0.0.1:3031", "http-to = 127.0.0.1:3031"),
        evidence='2.0.31: `unable to connect() to node "127.0.0.1:3030": Connection refused`, and '
        "a connection that is closed without an answer.",
        look=_router_to_nowhere,
    ),
    Rule(
        id="U067",
        name="router-option-without-router",
        severity=Severity.WARNING,
        why="Options that begin with `http-` belong to the router of `http`. With http-socket they "
        "are read and forgotten.",
        example=app_on("http-socket = :8000", "http-keepalive = 5"),
        better=app_on("http = :8000", "http-keepalive = 5", "http-auto-chunked = true"),
        evidence="2.0.31: http-socket closes the connection after its answer with or without it.",
        look=_options_without_router,
    ),
    Rule(
        id="U068",
        name="router-gives-up-first",
        severity=Severity.WARNING,
        why="The router waits for an answer for http-timeout, 60 s by default, and closes the "
        "connection then. A longer harakiri lets the worker finish what nobody waits for.",
        example=app_on("http = :8000", "harakiri = 120"),
        better=app_on("http = :8000", "harakiri = 120", "http-timeout = 120"),
        evidence="2.0.31 with `http-timeout = 1`: a request of 3 s was cut off after 1.0 s, and "
        "the worker logged it as served after 3000 ms.",
        look=_router_gives_up_first,
    ),
    Rule(
        id="U069",
        name="router-table",
        severity=Severity.WARNING,
        why="The router allocates and clears 8 bytes for each file that it may open. Container "
        "engines allow a billion: gigabytes per router process before the first request.",
        example=app_on("http = :8000", "; where 1073741816 files may be open"),
        better=app_on("http = :8000", "max-fd = 65536"),
        evidence="plugins/corerouter/corerouter.c:666 allocates max_fd pointers and sets each; "
        "unbit/uwsgi issue 2299 saw 8.6 GB. From source and issues, not run here.",
        look=_large_table,
    ),
    Rule(
        id="U070",
        name="keep-alive-needs-length",
        severity=Severity.NOTE,
        why="A connection can only stay open where the client can tell the end of an answer: by "
        "its Content-Length, or in chunks. The app may not send the first.",
        example=app_on("http = :8000", "http-keepalive = 5"),
        better=app_on("http = :8000", "http-keepalive = 5", "http-auto-chunked = true"),
        evidence="2.0.31: an answer without Content-Length is followed by the connection's end in "
        "spite of `http-keepalive = 5`.",
        look=_closes_without_length,
    ),
)
