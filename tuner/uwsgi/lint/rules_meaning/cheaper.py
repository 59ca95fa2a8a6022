"""cheaper: fewer processes while there is little to do."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, is_dynamic, quoted, removed, set_to
from tuner.uwsgi.lint.rules_meaning.addresses import address_of
from tuner.uwsgi.lint.rules_meaning.certain import (
    HTTP,
    added,
    is_absent,
    is_off,
    number,
    positive,
    settled,
)
from tuner.uwsgi.lint.rules_meaning.examples import app_on
from tuner.uwsgi.lint.subject import Subject

_ALGORITHMS = frozenset({"spare", "backlog", "manual", "busyness"})
_BUSYNESS = "cheaper-busyness-"


def _not_below(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "cheaper")
    processes = number(subject, "processes", default=1)
    if entry is None or processes is None or as_int(entry.value) < processes:
        return
    if processes > 1:
        most = str(processes - 1)
        fix = set_to(entry, most, f"set it to {most} at most", is_safe=False)
    else:
        fix = removed([entry.number], "leave it away, or allow more processes", is_safe=False)
    yield Hit(
        line=entry.number,
        message=f"cheaper {as_int(entry.value)} is not below processes, which is {processes}: "
        "uWSGI will not start",
        fix=fix,
    )


def _unknown_algorithm(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "cheaper-algo")
    if entry is None or is_dynamic(entry.value) or not is_absent(subject, "plugins"):
        return
    known = _ALGORITHMS if _has_busyness(subject) else _ALGORITHMS - {"busyness"}
    if entry.value not in known:
        yield Hit(
            line=entry.number,
            message=f"this uWSGI has no algorithm {quoted(entry.value)} and takes spare instead; "
            f"it has {', '.join(sorted(known))}",
            fix=set_to(entry, "spare", "write what it takes: spare", is_safe=True),
        )


def _has_busyness(subject: Subject) -> bool:
    return subject.catalogue.find(f"{_BUSYNESS}max") is not None


def _initial_outside(subject: Subject) -> Iterator[Hit]:
    entry, cheaper = positive(subject, "cheaper-initial"), positive(subject, "cheaper")
    processes = number(subject, "processes", default=1)
    if entry is None or cheaper is None or processes is None:
        return
    least, asked = as_int(cheaper.value), as_int(entry.value)
    taken = min(max(asked, least), processes)
    if least < processes and taken != asked:
        yield Hit(
            line=entry.number,
            message=f"uWSGI starts with {taken} processes instead of {asked}: cheaper is {least} "
            f"and processes {processes}",
            fix=set_to(entry, str(taken), f"write what it takes: {taken}", is_safe=True),
        )


def _busyness_unused(subject: Subject) -> Iterator[Hit]:
    algorithm = settled(subject, "cheaper-algo")
    if not (
        is_absent(subject, "cheaper-algo")
        or (algorithm and not is_dynamic(algorithm.value) and algorithm.value != "busyness")
    ):
        return
    for entry in subject.entries:
        if entry.option and entry.name.startswith(_BUSYNESS):
            yield Hit(
                line=entry.number,
                message=f"{entry.key} counts for the algorithm busyness alone, and this file does "
                "not choose it",
                fix=added(subject, "cheaper-algo = busyness"),
            )


def _blind_backlog(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "cheaper-algo")
    sockets = subject.named("socket", *HTTP)
    if entry is None or entry.value != "backlog" or not sockets:
        return
    addresses = [address_of(socket.value) for socket in sockets]
    if all(address and address.path for address in addresses):
        yield Hit(
            line=entry.number,
            message="backlog looks at the listen queue, which uWSGI cannot read of a unix socket: "
            "it never sees a reason for more processes",
            fix=Fix(sentence="use busyness or spare, or a TCP socket"),
        )


def _rss_without_report(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "cheaper-rss-limit-soft")
    if entry and is_off(subject, "memory-report"):
        yield Hit(
            line=entry.number,
            message="cheaper-rss-limit-soft needs memory-report: uWSGI will not start without it",
            fix=added(subject, "memory-report = true"),
        )


RULES = (
    Rule(
        id="U080",
        name="cheaper-not-below-processes",
        severity=Severity.ERROR,
        why="cheaper is the least number of processes, and has to be below the most. uWSGI does "
        "not start otherwise; `processes` not being there means one.",
        example=file_of("processes = 2", "cheaper = 2"),
        better=file_of("processes = 2", "cheaper = 1"),
        evidence="2.0.31: `invalid cheaper value: must be lower than processes`, exit code 1 "
        "(core/init.c:453).",
        look=_not_below,
    ),
    Rule(
        id="U081",
        name="unknown-cheaper-algorithm",
        severity=Severity.ERROR,
        why="An algorithm that this build has not, or whose name is not spelt right, is replaced "
        "by spare. One line of the log says so.",
        example=file_of("processes = 4", "cheaper = 2", "cheaper-algo = busy"),
        better=file_of("processes = 4", "cheaper = 2", "cheaper-algo = busyness"),
        evidence="2.0.31: `unable to find requested cheaper algorithm, falling back to spare`. "
        "Registered are spare, backlog and manual (core/uwsgi.c:2350), and busyness by its plugin.",
        look=_unknown_algorithm,
    ),
    Rule(
        id="U082",
        name="cheaper-initial-outside",
        severity=Severity.NOTE,
        why="uWSGI starts with at least cheaper and at most processes, whatever this says.",
        example=file_of("processes = 4", "cheaper = 2", "cheaper-initial = 9"),
        better=file_of("processes = 4", "cheaper = 2", "cheaper-initial = 4"),
        evidence="2.0.31: `warning: invalid cheaper-initial value (9), must be lower or equal than "
        "worker count (4), using 4 as initial number of workers`.",
        look=_initial_outside,
    ),
    Rule(
        id="U083",
        name="busyness-not-chosen",
        severity=Severity.WARNING,
        why="The options of the algorithm busyness are read and forgotten unless `cheaper-algo` "
        "chooses it; the default is spare.",
        example=file_of("processes = 4", "cheaper = 2", "cheaper-busyness-max = 60"),
        better=file_of(
            "processes = 4", "cheaper = 2", "cheaper-algo = busyness", "cheaper-busyness-max = 60"
        ),
        evidence="plugins/cheaper_busyness/cheaper_busyness.c reads them in its algorithm alone; "
        "2.0.31 starts without a word.",
        look=_busyness_unused,
    ),
    Rule(
        id="U084",
        name="backlog-of-a-unix-socket",
        severity=Severity.WARNING,
        why="The queue of a unix socket is 0 to uWSGI, full or not. An algorithm that goes by it "
        "stays at the least number of processes under any load.",
        example=app_on(
            "socket = /run/app.sock",
            "vacuum = true",
            "processes = 4",
            "cheaper = 1",
            "cheaper-algo = backlog",
        ),
        better=app_on(
            "socket = /run/app.sock",
            "vacuum = true",
            "processes = 4",
            "cheaper = 1",
            "cheaper-algo = spare",
        ),
        evidence="core/master.c:251 reads the queue of TCP sockets only; in 2.0.31's stats a "
        "full unix socket has queue 0.",
        look=_blind_backlog,
    ),
    Rule(
        id="U085",
        name="cheaper-rss-without-report",
        severity=Severity.ERROR,
        why="The limit is held against what memory-report measures. uWSGI does not start with the "
        "one and without the other.",
        example=file_of("processes = 4", "cheaper = 1", "cheaper-rss-limit-soft = 500000000"),
        better=file_of(
            "processes = 4",
            "cheaper = 1",
            "cheaper-rss-limit-soft = 500000000",
            "memory-report = true",
        ),
        evidence="2.0.31: `enabling cheaper-rss-limit-soft requires enabling also memory-report`, "
        "exit code 1.",
        look=_rss_without_report,
    ),
)
