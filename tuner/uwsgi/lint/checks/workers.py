"""Worker processes: how many, on which CPUs, and how they share the work."""

import math
from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.certainty import always, number, positive, settled, switched_on, word
from tuner.uwsgi.lint.checks.patterns import discouraged
from tuner.uwsgi.lint.edits import removed, set_to
from tuner.uwsgi.lint.finding import Fix
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Subject

_HOST_CPUS = "%k"
_ABSURD_PER_CPU = 32

discouraged("affinity-to-the-hosts-cpus", positive, "cpu-affinity")


@check("no-workers")
def none(subject: Subject) -> Iterator[Hit]:
    entry = word(subject, "processes")
    if entry is None or as_int(entry.value) != 0:
        return
    count = math.ceil(subject.box.cpus or 2)
    yield hit(entry, set_to(entry, str(count), f"write a number, such as {count}"))


@check("processes-of-the-host")
def of_host(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "processes")
    if entry is None or _HOST_CPUS not in entry.value.replace("%%", ""):
        return
    fix = Fix("write the number of CPUs that it may use")
    if subject.box.cpus:
        count = math.ceil(subject.box.cpus)
        fix = set_to(entry, str(count), f"set it to {count}")
    yield hit(entry, fix)


@check("absurdly-many-processes")
def absurd(subject: Subject) -> Iterator[Hit]:
    entry, cpus = positive(subject, "processes"), subject.box.cpus
    if entry is None or not cpus:
        return
    count = as_int(entry.value)
    if count > _ABSURD_PER_CPU * max(1, math.ceil(cpus)):
        share = "one CPU" if cpus == 1 else f"{cpus:g} CPUs"
        yield hit(entry, share=share)


@check("thunder-lock-for-nothing")
def thunder_lock(subject: Subject) -> Iterator[Hit]:
    entry = switched_on(subject, "thunder-lock")
    if entry is None:
        return
    if number(subject, "processes", default=1) == 1:
        why = "one process shares the lock with no other"
    elif positive(subject, "gevent"):
        why = "gevent's loop does not use it"
    elif always(subject, "http11-socket"):
        why = "http11-socket turns it off"
    else:
        return
    yield hit(entry, removed(entry, is_safe=True), why=why)
