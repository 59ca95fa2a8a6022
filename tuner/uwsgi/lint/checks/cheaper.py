"""cheaper: fewer processes when there is little to do."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.addresses import address_of
from tuner.uwsgi.lint.certainty import HTTP, is_absent, number, positive, settled, word
from tuner.uwsgi.lint.checks.patterns import needs
from tuner.uwsgi.lint.edits import added, removed, set_to
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Subject

_ALGORITHMS = frozenset({"spare", "backlog", "manual", "busyness"})
_BUSYNESS = "cheaper-busyness-"

needs("cheaper-rss-without-report", positive, "cheaper-rss-limit-soft", "memory-report")


@check("cheaper-not-below-processes")
def not_below(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "cheaper")
    processes = number(subject, "processes", default=1)
    if entry is None or processes is None or as_int(entry.value) < processes:
        return
    most = str(processes - 1)
    fix = set_to(entry, most, f"set it to {most} or less")
    if processes <= 1:
        fix = removed(entry, "remove the line, or allow more processes")
    yield hit(entry, fix, processes=processes)


@check("unknown-cheaper-algorithm")
def unknown_algorithm(subject: Subject) -> Iterator[Hit]:
    entry = word(subject, "cheaper-algo")
    if entry is None or not is_absent(subject, "plugins"):
        return
    has_busyness = subject.catalogue.find(f"{_BUSYNESS}max") is not None
    known = _ALGORITHMS if has_busyness else _ALGORITHMS - {"busyness"}
    if entry.value not in known:
        yield hit(
            entry,
            set_to(entry, "spare", "write spare", is_safe=True),
            known=", ".join(sorted(known)),
        )


@check("cheaper-initial-outside")
def initial_outside(subject: Subject) -> Iterator[Hit]:
    entry, cheaper = positive(subject, "cheaper-initial"), positive(subject, "cheaper")
    processes = number(subject, "processes", default=1)
    if entry is None or cheaper is None or processes is None:
        return
    least, asked = as_int(cheaper.value), as_int(entry.value)
    taken = min(max(asked, least), processes)
    if least < processes and taken != asked:
        fix = set_to(entry, str(taken), f"write {taken}, which uWSGI uses", is_safe=True)
        yield hit(entry, fix, taken=taken, least=least, processes=processes)


@check("busyness-not-chosen")
def busyness_unused(subject: Subject) -> Iterator[Hit]:
    algorithm = word(subject, "cheaper-algo")
    is_other = algorithm is not None and algorithm.value != "busyness"
    if not is_other and not is_absent(subject, "cheaper-algo"):
        return
    for entry in subject.entries:
        if entry.option and entry.name.startswith(_BUSYNESS):
            yield hit(entry, added(subject, "cheaper-algo = busyness"))


@check("backlog-of-a-unix-socket")
def blind_backlog(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "cheaper-algo")
    sockets = subject.named("socket", *HTTP)
    if entry is None or entry.value != "backlog" or not sockets:
        return
    addresses = [address_of(socket.value) for socket in sockets]
    if all(address and address.path for address in addresses):
        yield hit(entry)
