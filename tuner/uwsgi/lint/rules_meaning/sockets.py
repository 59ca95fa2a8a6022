"""Sockets: addresses, queues, and which protocol is spoken where."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, is_dynamic, removed, set_to
from tuner.uwsgi.lint.rules_meaning.addresses import Address, address_of
from tuner.uwsgi.lint.rules_meaning.certain import (
    HTTP,
    added,
    always,
    is_absent,
    is_off,
    positive,
    switched_on,
)
from tuner.uwsgi.lint.rules_meaning.examples import app_on
from tuner.uwsgi.lint.subject import Entry, Subject

_OLD_SOMAXCONN = 128
_LISTENERS = (*HTTP, "socket", "fastcgi-socket", "scgi-socket", "stats", "shared-socket")
_WORKER_SOCKETS = frozenset(_LISTENERS) - {"http", "stats", "shared-socket"}
_HTTP_PORTS = frozenset({80, 443, 5000, 8000, 8080, 8443})


def _above_somaxconn(subject: Subject) -> Iterator[Hit]:
    entry, most = positive(subject, "listen"), subject.box.somaxconn
    if entry is None:
        return
    asked = as_int(entry.value)
    if most is not None and asked > most:
        yield Hit(
            line=entry.number,
            message=f"listen {asked} is above net.core.somaxconn, which is {most}: uWSGI will not "
            "start",
            fix=set_to(entry, str(most), f"set listen to {most}", is_safe=False),
        )
    elif most is None and asked > _OLD_SOMAXCONN:
        yield Hit(
            line=entry.number,
            message=f"listen {asked} needs a net.core.somaxconn of {asked} in the container's own "
            "network: kernels from 5.4 on have 4096 there, older ones 128",
            severity=Severity.NOTE,
        )


def _same_address(subject: Subject) -> Iterator[Hit]:
    if not is_off(subject, "reuse-port"):
        return  # then both are bound, and the kernel chooses
    taken: list[tuple[Entry, Address]] = []
    for entry in always(subject, *_LISTENERS):
        address = None if is_dynamic(entry.value) else address_of(entry.value)
        if address is None:
            continue
        earlier = next((e for e, a in taken if a.clashes(address)), None)
        taken.append((entry, address))
        if earlier is None:
            continue
        pair = {earlier.name, entry.name}
        if earlier.value == entry.value and pair <= _WORKER_SOCKETS:
            if len(pair) == 1:
                continue  # a copy, of which uWSGI binds one
            what = f"uWSGI binds it once, and speaks the protocol of {earlier.key} alone"
        else:
            what = "uWSGI will not start: the address is in use"
        yield Hit(
            line=entry.number,
            message=f"{entry.key} has the address of line {earlier.number}, {earlier.key}: {what}",
        )


def _shared_unused(subject: Subject) -> Iterator[Hit]:
    numbers = [e.value.lstrip("=") for e in subject.named(*_LISTENERS) if e.value.startswith("=")]
    shared = always(subject, "shared-socket", "undeferred-shared-socket")
    if any(is_dynamic(n) for n in numbers) or not is_absent(subject, "protocol"):
        return
    for at, entry in enumerate(shared):
        if str(at) not in numbers:
            yield Hit(
                line=entry.number,
                message=f"nothing serves the shared socket {at}: it is bound, and no worker "
                "process listens to it",
                fix=Fix(sentence=f"say who serves it, as in `socket = ={at}`"),
            )


def _http11(subject: Subject) -> Iterator[Hit]:
    for entry in always(subject, "http11-socket"):
        yield Hit(
            line=entry.number,
            message="http11-socket keeps a worker for one connection until that is closed or "
            "silent for socket-timeout: others wait",
            fix=Fix(sentence="use http-socket behind a proxy, or http for clients that keep alive"),
        )


def _keep_alive_header(subject: Subject) -> Iterator[Hit]:
    if not subject.named("http-socket") or subject.named("http", "http11-socket"):
        return
    for entry in always(subject, "add-header"):
        name, _, value = entry.value.partition(":")
        if name.strip().lower() == "connection" and value.strip().lower() == "keep-alive":
            yield Hit(
                line=entry.number,
                message="http-socket closes every connection after its answer: this header "
                "promises the opposite",
                fix=removed([entry.number], "leave the header away", is_safe=False),
            )


def _uwsgi_on_http_port(subject: Subject) -> Iterator[Hit]:
    if not is_absent(subject, "protocol", *HTTP):
        return
    for entry in always(subject, "socket"):
        address = address_of(entry.value)
        if address and address.port in _HTTP_PORTS:
            yield Hit(
                line=entry.number,
                message=f"{entry.key} speaks uwsgi and not HTTP: nginx needs `uwsgi_pass` for it, "
                f"and whoever opens port {address.port} with a browser gets nothing",
                fix=Fix(sentence="use http-socket where HTTP is meant"),
            )


def _reuse_port(subject: Subject) -> Iterator[Hit]:
    entry = switched_on(subject, "reuse-port")
    if entry:
        yield Hit(
            line=entry.number,
            message="reuse-port does not share requests out: the master binds one socket for all. "
            "It lets a second uWSGI take the port, which else would be an error",
            fix=removed([entry.number], "leave it away", is_safe=False),
        )


def _buffer_size(subject: Subject) -> Iterator[Hit]:
    if is_absent(subject, "buffer-size") and subject.named(*HTTP, "socket"):
        entry = subject.named(*HTTP, "socket")[0]
        yield Hit(
            line=entry.number,
            message="a request whose headers are above 4096 bytes, cookies included, is cut off "
            "without an answer",
            fix=added(subject, "buffer-size = 16384"),
        )


RULES = (
    Rule(
        id="U050",
        name="listen-above-somaxconn",
        severity=Severity.ERROR,
        why="uWSGI does not start where `listen` is above net.core.somaxconn, and the kernel that "
        "counts is the one of the container's network, not the developer's.",
        example=file_of("; where net.core.somaxconn is 128", "processes = 2", "listen = 1024"),
        better=file_of("processes = 2", "listen = 128"),
        evidence="2.0.31 with `listen = 5000` and somaxconn 4096: `Listen queue size is greater "
        "than the system max net.core.somaxconn (4096).`, exit code 1 (core/socket.c:119). A "
        "network namespace starts with 4096 since Linux 5.4, with 128 before. Where nobody says "
        "the limit, this is a note on what the file relies on.",
        look=_above_somaxconn,
    ),
    Rule(
        id="U051",
        name="same-address-twice",
        severity=Severity.ERROR,
        why="Two fronts cannot share an address. Mostly uWSGI does not start; with `socket` and "
        "`http-socket` of the very same address it starts, and speaks the first one's protocol.",
        example=file_of("processes = 2", "stats = 127.0.0.1:8000"),
        better=file_of("processes = 2", "stats = 127.0.0.1:9191"),
        evidence="2.0.31 with http-socket :8000 and stats 127.0.0.1:8000: `bind(): Address already "
        "in use`, exit code 1. With socket :8000 before http-socket :8000 every HTTP request ends "
        "in `invalid request block size: 21573 (max 4096)...skip`.",
        look=_same_address,
    ),
    Rule(
        id="U052",
        name="shared-socket-unused",
        severity=Severity.ERROR,
        why="`shared-socket` only binds an address; some other option has to serve it by number. "
        "Without one uWSGI does not start, or leaves clients of that address waiting.",
        example=app_on("shared-socket = :8000"),
        better=app_on("shared-socket = :8000", "http-socket = =0"),
        evidence="2.0.31: `The -s/--socket option is missing and stdin is not a socket.`, exit "
        "code 1.",
        look=_shared_unused,
    ),
    Rule(
        id="U053",
        name="http11-socket",
        severity=Severity.WARNING,
        why="Each worker of an http11-socket serves one kept-alive connection at a time. A "
        "benchmark with as many connections as workers looks splendid; in production all other "
        "clients wait.",
        example=app_on("http11-socket = :8000"),
        better=app_on("http-socket = :8000"),
        evidence="2.0.31 with one worker: the second of two connections was answered after 4.0 s, "
        "which is socket-timeout. unbit/uwsgi issues 1964, 2019 and 2038.",
        look=_http11,
    ),
    Rule(
        id="U054",
        name="keep-alive-header",
        severity=Severity.WARNING,
        why="A header does not keep a connection alive. Clients and proxies that believe it send "
        "the next request into a closed connection.",
        example=file_of("processes = 2", "add-header = Connection: keep-alive"),
        better=file_of("processes = 2", "add-header = Connection: close"),
        evidence="2.0.31: http-socket sends the header and closes the connection all the same.",
        look=_keep_alive_header,
    ),
    Rule(
        id="U055",
        name="uwsgi-on-http-port",
        severity=Severity.NOTE,
        why="`socket` speaks uwsgi's own protocol, for nginx's `uwsgi_pass`. A browser or "
        "`proxy_pass` gets an empty answer from it.",
        example=app_on("socket = 127.0.0.1:8080"),
        better=app_on("socket = 127.0.0.1:3031"),
        evidence="2.0.31: a GET ends in `invalid request block size: 21573 (max 4096)...skip`; "
        "21573 are the letters `ET` read as a length.",
        look=_uwsgi_on_http_port,
    ),
    Rule(
        id="U060",
        name="reuse-port",
        severity=Severity.WARNING,
        why="The option sounds like load balancing between workers and is none. What it does do is "
        "to hide that another uWSGI already has the port.",
        example=file_of("processes = 2", "reuse-port = true"),
        better=file_of("processes = 2"),
        evidence="2.0.31 with four workers: one listening socket in /proc/net/tcp, as without it.",
        look=_reuse_port,
    ),
    Rule(
        id="U061",
        name="buffer-size-default",
        severity=Severity.NOTE,
        why="All headers of a request must fit into buffer-size, 4096 bytes by default. A few "
        "cookies or a token later the client sees a reset connection, or nginx a 502.",
        example=app_on("http-socket = :8000"),
        better=file_of("processes = 2", "buffer-size = 16384"),
        evidence="2.0.31 with a cookie of 5000 bytes: `invalid HTTP request size (max "
        "4096)...skip`, connection reset.",
        look=_buffer_size,
    ),
)
