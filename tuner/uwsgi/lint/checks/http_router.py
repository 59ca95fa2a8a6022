"""The http router: the uWSGI process in front of the workers."""

from collections.abc import Iterator

from tuner.nouns.model import BYTES_PER_MB
from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.addresses import address_of
from tuner.uwsgi.lint.certainty import addresses, always, is_absent, is_off, number, positive
from tuner.uwsgi.lint.edits import added, removed
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Entry, Subject

_SOCKETS = ("socket", "http-socket", "http11-socket", "fastcgi-socket", "scgi-socket", "raw-socket")
_BACKENDS = (
    "http-to", "http-use-cache", "http-use-pattern", "http-use-base", "http-use-code-string",
    "http-use-socket", "http-subscription-server", "http-fallback", "http-zerg",
)  # fmt: skip
_ROUTER_ONLY = frozenset(
    {
        "http-auto-chunked", "http-auto-gzip", "http-buffer-size", "http-connect-timeout",
        "http-events", "http-headers-timeout", "http-keepalive", "http-manage-expect",
        "http-processes", "http-raw-body", "http-timeout", "http-to", "http-websockets",
    }
)  # fmt: skip
_DEFAULT_TIMEOUT_S = 60
_FULL_TABLE = 1_000_000
_TABLE_SLOT_BYTES = 8


def _router(subject: Subject) -> Entry | None:
    return next(iter(always(subject, "http")), None)


@check("http-with-http-socket")
def http_behind_http(subject: Subject) -> Iterator[Hit]:
    router, sockets = _router(subject), subject.named(*_SOCKETS)
    if router is None or not sockets or not is_absent(subject, *_BACKENDS):
        return
    first = sockets[0]
    by_protocol = first.name == "socket" and any(
        entry.value in {"http", "http11"} for entry in always(subject, "protocol")
    )
    if first.line.conditional or (first.name == "socket" and not by_protocol):
        return
    yield hit(first, router=router)


@check("router-to-nowhere")
def router_to_nowhere(subject: Subject) -> Iterator[Hit]:
    sockets = subject.named(*_SOCKETS)
    if any(socket.is_dynamic or socket.value.startswith("=") for socket in sockets):
        return
    bound = [address for socket in sockets if (address := address_of(socket.value))]
    for entry, target in addresses(subject, "http-to"):
        is_here = target.path or target.host in {"", "127.0.0.1", "localhost"}
        if is_here and not any(target.clashes(address) for address in bound):
            yield hit(entry)


@check("router-option-without-router")
def options_without_router(subject: Subject) -> Iterator[Hit]:
    if not is_absent(subject, "http", "https", "http2", "http-subscription-server"):
        return
    for entry in subject.entries:
        if entry.option and entry.name in _ROUTER_ONLY:
            yield hit(entry, removed(entry, is_safe=True))


@check("router-gives-up-first")
def router_gives_up_first(subject: Subject) -> Iterator[Hit]:
    harakiri = positive(subject, "harakiri")
    timeout = number(subject, "http-timeout", default=_DEFAULT_TIMEOUT_S)
    if _router(subject) is None or harakiri is None or not timeout:
        return
    allowed = as_int(harakiri.value)
    if allowed > timeout:
        yield hit(harakiri, added(subject, f"http-timeout = {allowed}"), timeout=timeout)


@check("router-table")
def large_table(subject: Subject) -> Iterator[Hit]:
    router, nofile = _router(subject), subject.box.nofile
    most = number(subject, "max-fd", default=0)
    if router is None or nofile is None or most is None:
        return
    slots = most or nofile
    if slots >= _FULL_TABLE:
        megabytes = slots * _TABLE_SLOT_BYTES // BYTES_PER_MB
        yield hit(router, added(subject, "max-fd = 65536"), slots=slots, megabytes=megabytes)


@check("router-closes-connections")
def closes_each_connection(subject: Subject) -> Iterator[Hit]:
    router = _router(subject)
    if router and subject.box.clients_keep and is_off(subject, "http-keepalive"):
        yield hit(router, added(subject, "http-keepalive = 1", "http-auto-chunked = true"))


@check("keep-alive-needs-length")
def closes_without_length(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "http-keepalive")
    if entry and _router(subject) and is_off(subject, "http-auto-chunked"):
        yield hit(entry, added(subject, "http-auto-chunked = true"))
