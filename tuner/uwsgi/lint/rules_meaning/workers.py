"""Worker processes: how many, where they run, and how they share the work."""

import math
from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, is_dynamic, quoted, removed, set_to
from tuner.uwsgi.lint.rules_meaning.certain import always, number, positive, settled, switched_on
from tuner.uwsgi.lint.subject import Subject

_HOST_CPUS = "%k"
_ABSURD_PER_CPU = 32


def _none(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "processes")
    if entry is None or is_dynamic(entry.value) or as_int(entry.value) != 0:
        return
    cpus = subject.box.cpus
    count = math.ceil(cpus) if cpus else 2
    said = quoted(entry.value) if entry.value else "no value"
    yield Hit(
        line=entry.number,
        message=f"{entry.key} with {said} is 0: uWSGI starts without any worker, and requests wait "
        "for ever",
        fix=set_to(entry, str(count), f"say a number, as in {count}", is_safe=False),
    )


def _of_host(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "processes")
    if entry and _HOST_CPUS in entry.value.replace("%%", ""):
        cpus = subject.box.cpus
        count = math.ceil(cpus) if cpus else None
        sentence = f"set it to {count}" if count else "say the number of CPUs that it may use"
        yield Hit(
            line=entry.number,
            message=f"{_HOST_CPUS} is the number of the machine's CPUs, whatever the container may "
            "use of them",
            fix=set_to(entry, str(count), sentence, is_safe=False)
            if count
            else Fix(sentence=sentence),
        )


def _absurd(subject: Subject) -> Iterator[Hit]:
    entry, cpus = positive(subject, "processes"), subject.box.cpus
    if entry is None or not cpus:
        return
    count = as_int(entry.value)
    if count > _ABSURD_PER_CPU * max(1, math.ceil(cpus)):
        share = "one CPU" if cpus == 1 else f"{cpus:g} CPUs"
        yield Hit(
            line=entry.number,
            message=f"{count} processes on {share}: they take turns, each with memory of its own",
            fix=Fix(sentence="use threads where requests wait for others, and fewer processes"),
        )


def _thunder_lock(subject: Subject) -> Iterator[Hit]:
    entry = switched_on(subject, "thunder-lock")
    if entry is None:
        return
    if number(subject, "processes", default=1) == 1:
        why = "one process has nobody to share the lock with"
    elif positive(subject, "gevent"):
        why = "gevent's loop does not use it"
    elif always(subject, "http11-socket"):
        why = "http11-socket switches it off"
    else:
        return
    yield Hit(
        line=entry.number,
        message=f"thunder-lock does nothing: {why}",
        fix=removed([entry.number], "leave it away", is_safe=True),
    )


def _affinity(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "cpu-affinity")
    if entry:
        yield Hit(
            line=entry.number,
            message="cpu-affinity counts the machine's CPUs from 0: in containers with a quota all "
            "first workers share CPU 0, and with a cpuset the call may fail",
            fix=removed([entry.number], "leave it away", is_safe=False),
        )


RULES = (
    Rule(
        id="U075",
        name="no-workers",
        severity=Severity.ERROR,
        why="`processes` is read as a number: 0, `auto` and every other word make it 0. uWSGI then "
        "starts without workers, accepts connections and never answers.",
        example=file_of("processes = auto"),
        better=file_of("processes = 2"),
        evidence="2.0.31: `*** Operational MODE: no-workers ***`, no exit; a request timed out.",
        look=_none,
    ),
    Rule(
        id="U076",
        name="processes-of-the-host",
        severity=Severity.WARNING,
        why="`%k` counts the CPUs of the machine. A container of one CPU on a machine of 64 starts "
        "64 processes, and as many times the memory.",
        example=file_of("processes = %k"),
        better=file_of("processes = 2"),
        evidence="2.0.31 under `--cpus 1` on a machine of two: two processes (core/uwsgi.c:2135: "
        "what sysconf says).",
        look=_of_host,
    ),
    Rule(
        id="U077",
        name="absurdly-many-processes",
        severity=Severity.WARNING,
        why=f"More than {_ABSURD_PER_CPU} processes to a CPU is a number from another machine. "
        "What waits for a database is served by threads at a fraction of the memory.",
        example=file_of("; on one CPU", "processes = 500"),
        better=file_of("processes = 4", "threads = 16"),
        evidence="A bound far outside of what searches here have found good: at most a few "
        "processes to a CPU, and up to 32 threads in each.",
        look=_absurd,
    ),
    Rule(
        id="U078",
        name="thunder-lock-for-nothing",
        severity=Severity.NOTE,
        why="The lock makes waiting processes wake one at a time. With one process, or with "
        "gevent, there is nothing for it to order.",
        example=file_of("processes = 1", "thunder-lock = true"),
        better=file_of("processes = 4", "thunder-lock = true"),
        evidence="core/utils.c:1483: the lock is taken where a process or thread accepts. Threads "
        "of one process are put in order without it too (uwsgi.h:43), gevent accepts by itself "
        "(plugins/gevent/gevent.c), and http11-socket switches it off (proto/http.c:819).",
        look=_thunder_lock,
    ),
    Rule(
        id="U079",
        name="affinity-to-the-hosts-cpus",
        severity=Severity.WARNING,
        why="CPUs are numbered as the machine has them and counted from 0 in every container, "
        "whatever share this one has. Neighbours end on the same CPU.",
        example=file_of("processes = 2", "cpu-affinity = 1"),
        better=file_of("processes = 2"),
        evidence="2.0.31: `mapping worker 1 to CPUs: 0`; in a cpuset without CPU 0 also "
        "`sched_setaffinity(): Invalid argument` before that line (core/utils.c:3687).",
        look=_affinity,
    ),
)
