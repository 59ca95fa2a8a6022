"""Several requests in one process: threads, gevent, async."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, is_dynamic, quoted, removed, set_to
from tuner.uwsgi.lint.rules_meaning.certain import (
    added,
    is_absent,
    is_off,
    positive,
    settled,
)
from tuner.uwsgi.lint.subject import Subject

_LOOPS = ("gevent", "asyncio", "async")
_ENGINES = ("gevent", "asyncio", "ugreen", "greenlet", "coroae", "fiber", "tornado")
_ALWAYS_THERE = frozenset({"simple", "async"})


def _threads_too(subject: Subject) -> Iterator[Hit]:
    threads = positive(subject, "threads")
    if threads is None or as_int(threads.value) < 2:
        return
    for option in _LOOPS:
        loop = positive(subject, option)
        if loop:
            yield Hit(
                line=threads.number,
                message=f"threads {as_int(threads.value)} together with {loop.key} in line "
                f"{loop.number} corrupts memory: uWSGI has room for one kind of core and uses it "
                "for both",
                fix=set_to(threads, "1", f"keep {loop.key}, with one thread", is_safe=False),
            )
            return


def _no_engine(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "async")
    if entry and is_absent(subject, *_ENGINES, "loop", "plugins"):
        yield Hit(
            line=entry.number,
            message="async alone has no engine to switch between requests: uWSGI itself calls it a "
            "danger, and an ordinary app gains nothing",
            fix=removed([entry.number], "leave it away, and use threads", is_safe=False),
        )


def _not_patched(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "gevent")
    if (
        entry
        and is_off(subject, "gevent-monkey-patch")
        and is_off(subject, "gevent-early-monkey-patch")
    ):
        yield Hit(
            line=entry.number,
            message=f"{entry.key} without gevent-monkey-patch: unless the app patches itself, "
            "whatever waits blocks all other requests of the process",
            fix=added(subject, "gevent-monkey-patch = true"),
        )


def _no_such_loop(subject: Subject) -> Iterator[Hit]:
    entry, catalogue = settled(subject, "loop"), subject.catalogue
    if entry is None or is_dynamic(entry.value) or not catalogue.is_of_build:
        return
    name = entry.value
    if name in _ALWAYS_THERE or catalogue.find(name) or not is_absent(subject, "plugins"):
        return
    yield Hit(
        line=entry.number,
        message=f"this uWSGI has no loop {quoted(name)}: its workers end as soon as they start, "
        "again and again",
        fix=Fix(sentence="leave it away"),
    )


RULES = (
    Rule(
        id="U115",
        name="threads-with-gevent",
        severity=Severity.ERROR,
        why="gevent, asyncio and async count requests where threads count themselves. Requests "
        "then overwrite each other's memory: mixed up answers at first, a crash later.",
        example=file_of("gevent = 100", "gevent-monkey-patch = true", "threads = 4"),
        better=file_of("gevent = 100", "gevent-monkey-patch = true"),
        evidence="2.0.31: `malformed HTTP version`, `double free or corruption (out)`, `DAMN ! "
        "worker 1 died, killed by signal 6`; it starts with `cores: 2` for `async = 4` and "
        "`threads = 2` (core/init.c:431). unbit/uwsgi issue 858.",
        look=_threads_too,
    ),
    Rule(
        id="U116",
        name="async-without-engine",
        severity=Severity.WARNING,
        why="async is for apps that hand control back through uWSGI's own API. For all others it "
        "is one request at a time, with a loop that is not made for it.",
        example=file_of("processes = 2", "async = 100"),
        better=file_of("processes = 2", "threads = 16"),
        evidence="2.0.31: `*** DANGER *** async mode without coroutine/greenthread engine loaded "
        "!!!`; it serves.",
        look=_no_engine,
    ),
    Rule(
        id="U117",
        name="gevent-without-patch",
        severity=Severity.NOTE,
        why="gevent switches where its own sockets wait. An app that is not patched blocks in "
        "Python's, and a hundred greenlets serve one request at a time.",
        example=file_of("gevent = 100"),
        better=file_of("gevent = 100", "gevent-monkey-patch = true"),
        evidence="plugins/gevent/gevent.c calls monkey.patch_all only with the option; an app may "
        "do so itself, so this is a note.",
        look=_not_patched,
    ),
    Rule(
        id="U118",
        name="no-such-loop",
        severity=Severity.ERROR,
        why="A worker that does not find its loop ends, and the master starts it again, for ever. "
        "The container stays up and answers nothing.",
        example=file_of("processes = 2", "loop = asyncio"),
        better=file_of("processes = 2"),
        evidence="2.0.31 of the default build: `unavailable loop engine !!!` (core/uwsgi.c:3620). "
        "Looked at where an image was asked for its options.",
        look=_no_such_loop,
    ),
)
