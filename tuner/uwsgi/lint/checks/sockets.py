"""Sockets: addresses, queues, and the protocol of each."""

import posixpath
import re
from collections.abc import Iterator

from tuner.nouns.plain import BYTES_PER_MB
from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, Severity, added, quoted, removed, set_to
from tuner.uwsgi.lint.rule import Hit, advised, check, discouraged, hit
from tuner.uwsgi.lint.subject import (
    HTTP,
    Address,
    Entry,
    Subject,
    address_of,
    addresses,
    always,
    is_absent,
    is_dynamic,
    is_off,
    number,
    positive,
    settled,
    switched_on,
    word,
)

_OLD_SOMAXCONN = 128
_LISTENERS = (*HTTP, "socket", "fastcgi-socket", "scgi-socket", "stats", "shared-socket")
_WORKER_SOCKETS = frozenset(_LISTENERS) - {"http", "stats", "shared-socket"}
_HTTP_PORTS = frozenset({80, 443, 5000, 8000, 8080, 8443})

discouraged("reuse-port", switched_on, "reuse-port")


@check("listen-above-somaxconn")
def above_somaxconn(subject: Subject) -> Iterator[Hit]:
    entry, most = positive(subject, "listen"), subject.box.somaxconn
    if entry is None:
        return
    asked = as_int(entry.value)
    if most is not None and asked > most:
        message = f"listen {asked} is above net.core.somaxconn, which is {most}: uWSGI does not "
        message += "start"
        yield Hit(entry.number, message, set_to(entry, str(most), f"set listen to {most}"))
    elif most is None and asked > _OLD_SOMAXCONN:
        message = f"listen {asked} needs a net.core.somaxconn of {asked} in the container's "
        message += "network namespace: the default is 4096 since Linux 5.4, and 128 before"
        yield Hit(entry.number, message, severity=Severity.NOTE)


@check("same-address-twice")
def same_address(subject: Subject) -> Iterator[Hit]:
    if not is_off(subject, "reuse-port"):
        return  # then uWSGI binds both, and the kernel chooses
    taken: list[tuple[Entry, Address]] = []
    for entry, address in addresses(subject, *_LISTENERS):
        earlier = next((e for e, a in taken if a.clashes(address)), None)
        taken.append((entry, address))
        outcome = _of_both(earlier, entry) if earlier else ""
        if earlier and outcome:
            message = f"{entry.key} has the address of line {earlier.number}, {earlier.key}: "
            yield Hit(entry.number, message + outcome)


def _of_both(earlier: Entry, entry: Entry) -> str:
    """What uWSGI does with two options on one address; empty when it does no harm."""
    pair = {earlier.name, entry.name}
    if earlier.value != entry.value or not pair <= _WORKER_SOCKETS:
        return "uWSGI does not start, because the address is in use"
    if len(pair) == 1:
        return ""  # uWSGI binds a copy only once
    return f"uWSGI binds it once, and speaks only the protocol of {earlier.key}"


@check("shared-socket-unused")
def shared_unused(subject: Subject) -> Iterator[Hit]:
    numbers = [e.value.lstrip("=") for e in subject.named(*_LISTENERS) if e.value.startswith("=")]
    shared = always(subject, "shared-socket", "undeferred-shared-socket")
    if any(is_dynamic(n) for n in numbers) or not is_absent(subject, "protocol"):
        return
    for at, entry in enumerate(shared):
        if str(at) not in numbers:
            yield hit(entry, at=at)


advised("http11-socket", always, "http11-socket")


@check("keep-alive-header")
def keep_alive_header(subject: Subject) -> Iterator[Hit]:
    if not subject.named("http-socket") or subject.named("http", "http11-socket"):
        return
    for entry in always(subject, "add-header"):
        name, _, value = entry.value.partition(":")
        if name.strip().lower() == "connection" and value.strip().lower() == "keep-alive":
            yield hit(entry, removed(entry, "remove the header"))


@check("uwsgi-on-http-port")
def uwsgi_on_http_port(subject: Subject) -> Iterator[Hit]:
    if not is_absent(subject, "protocol", *HTTP):
        return
    for entry, address in addresses(subject, "socket"):
        if address.port in _HTTP_PORTS:
            yield hit(entry, port=address.port)


@check("buffer-size-default")
def buffer_size(subject: Subject) -> Iterator[Hit]:
    fronts = subject.named(*HTTP, "socket")
    if fronts and is_absent(subject, "buffer-size"):
        yield hit(fronts[0], added(subject, "buffer-size = 16384"))


# ---- The http router: the uWSGI process in front of the workers

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


@check("proxy-gives-up-first")
def proxy_gives_up_first(subject: Subject) -> Iterator[Hit]:
    harakiri, proxy = positive(subject, "harakiri"), subject.box.proxy
    if harakiri and proxy and as_int(harakiri.value) > proxy.seconds:
        yield hit(harakiri, proxy=proxy)


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


# ---- Files that uWSGI serves itself

_MAPS = ("static-map", "static-map2")
_SERVES_FILES = (*_MAPS, "check-static", "check-static-docroot", "fileserve-mode", "check-cache")


advised(
    "static-map-without-folder",
    always,
    *_MAPS,
    when=lambda _, entry: "=" not in entry.value and not entry.is_dynamic,
)


@check("static-without-offload")
def no_offload(subject: Subject) -> Iterator[Hit]:
    entries = [e for e in always(subject, *_MAPS, "check-static") if e.value]
    threads = settled(subject, "offload-threads")
    is_zero = threads and not threads.is_dynamic and as_int(threads.value) == 0
    if entries and (is_zero or is_absent(subject, "offload-threads")):
        yield hit(entries[0], added(subject, "offload-threads = 1"))


advised(
    "offload-without-files",
    positive,
    "offload-threads",
    when=lambda subject, _: is_absent(subject, *_SERVES_FILES),
    fix=removed,
)


@check("serves-its-source")
def serves_source(subject: Subject) -> Iterator[Hit]:
    home = word(subject, "chdir")
    homes = {"."} | ({posixpath.normpath(home.value)} if home else set())
    for entry in always(subject, *_MAPS, "check-static"):
        folder = entry.value.partition("=")[2] if entry.name in _MAPS else entry.value
        if folder and posixpath.normpath(folder) in homes:
            yield hit(entry, folder=quoted(folder))


# ---- Who can talk to uWSGI, and which user it runs as

_ACCESS_SOCKETS = ("socket", "http-socket", "http11-socket", "fastcgi-socket", "scgi-socket")
_ROOT = frozenset({"root", "0"})
_OPEN_TO_ALL = re.compile(r"[0-7][0-7][2367]")


def _unix(subject: Subject) -> list[Entry]:
    return [entry for entry, address in addresses(subject, *_ACCESS_SOCKETS) if address.path]


@check("open-uwsgi-socket")
def open_uwsgi_socket(subject: Subject) -> Iterator[Hit]:
    if not is_absent(subject, "protocol"):
        return
    for entry, address in addresses(subject, "socket"):
        if address.is_any_host:
            yield hit(entry)


@check("chmod-socket-invalid")
def chmod_invalid(subject: Subject) -> Iterator[Hit]:
    for entry in always(subject, "chmod-socket"):
        mode = entry.value
        if entry.is_dynamic or mode == "1" or re.fullmatch("[0-7]{3}", mode):
            continue
        four = re.fullmatch("0([0-7]{3})", mode)
        fix = Fix("write three octal digits, for example 660")
        if four:
            fix = set_to(entry, four[1], f"write {four[1]}", is_safe=True)
        yield hit(entry, fix)


advised(
    "socket-for-everybody",
    settled,
    "chmod-socket",
    when=lambda subject, e: bool(_OPEN_TO_ALL.fullmatch(e.value) and _unix(subject)),
)


@check("socket-stays")
def socket_stays(subject: Subject) -> Iterator[Hit]:
    sockets = _unix(subject)
    if sockets and is_off(subject, "vacuum") and is_off(subject, "abstract-socket"):
        yield hit(sockets[0], added(subject, "vacuum = true"))


@check("stats-open")
def stats_open(subject: Subject) -> Iterator[Hit]:
    for entry, address in addresses(subject, "stats"):
        if address.is_any_host:
            local = f"127.0.0.1:{address.port}"
            yield hit(entry, set_to(entry, local, f"bind it to {local}"))


@check("uid-without-gid")
def uid_alone(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "uid")
    if entry and entry.value not in _ROOT and is_absent(subject, "gid", "immediate-gid"):
        yield hit(entry, added(subject, f"gid = {entry.value}"))


advised("uid-root", settled, "uid", when=lambda _, entry: entry.value in _ROOT)
