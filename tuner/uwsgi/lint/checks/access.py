"""Who can talk to uWSGI, and which user it runs as."""

import re
from collections.abc import Iterator

from tuner.uwsgi.lint.certainty import addresses, always, is_absent, is_off, settled
from tuner.uwsgi.lint.checks.patterns import advised
from tuner.uwsgi.lint.edits import added, set_to
from tuner.uwsgi.lint.finding import Fix
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Entry, Subject

_WORKER_SOCKETS = ("socket", "http-socket", "http11-socket", "fastcgi-socket", "scgi-socket")
_ROOT = frozenset({"root", "0"})
_OPEN_TO_ALL = re.compile(r"[0-7][0-7][2367]")


def _unix(subject: Subject) -> list[Entry]:
    return [entry for entry, address in addresses(subject, *_WORKER_SOCKETS) if address.path]


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
