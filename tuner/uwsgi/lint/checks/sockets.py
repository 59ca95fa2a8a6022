"""Sockets: addresses, queues, and the protocol of each."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.addresses import Address
from tuner.uwsgi.lint.certainty import (
    HTTP,
    addresses,
    always,
    is_absent,
    is_off,
    positive,
    switched_on,
)
from tuner.uwsgi.lint.checks.patterns import advised, discouraged
from tuner.uwsgi.lint.edits import added, removed, set_to
from tuner.uwsgi.lint.finding import Severity
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Entry, Subject, is_dynamic

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
