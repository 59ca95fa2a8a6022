"""Several requests in one process: threads, gevent, async; and their time limit, harakiri."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.certainty import is_absent, number, positive, word
from tuner.uwsgi.lint.checks.patterns import needs
from tuner.uwsgi.lint.edits import added, removed, set_to
from tuner.uwsgi.lint.finding import Fix
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Subject

_LOOPS = ("gevent", "asyncio", "async")
_ENGINES = ("gevent", "asyncio", "ugreen", "greenlet", "coroae", "fiber", "tornado")
_ALWAYS_THERE = frozenset({"simple", "async"})

needs(
    "gevent-without-patch", positive, "gevent", "gevent-monkey-patch", "gevent-early-monkey-patch"
)


@check("threads-with-gevent")
def threads_too(subject: Subject) -> Iterator[Hit]:
    threads = positive(subject, "threads")
    loop = next((found for o in _LOOPS if (found := positive(subject, o))), None)
    if threads and loop and as_int(threads.value) > 1:
        fix = set_to(threads, "1", f"keep {loop.key}, with one thread")
        yield hit(threads, fix, loop=loop)


@check("async-without-engine")
def no_engine(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "async")
    if entry and is_absent(subject, *_ENGINES, "loop", "plugins"):
        yield hit(entry, removed(entry, "remove the line, and use threads"))


@check("no-such-loop")
def no_such_loop(subject: Subject) -> Iterator[Hit]:
    entry, catalogue = word(subject, "loop"), subject.catalogue
    if entry is None or not catalogue.is_of_build or not is_absent(subject, "plugins"):
        return
    if entry.value not in _ALWAYS_THERE and not catalogue.find(entry.value):
        yield hit(entry)


def _at_once(subject: Subject) -> int | None:
    """Requests at a time in one process, 2 for any number with gevent; None when uncertain."""
    return 2 if positive(subject, "gevent") else number(subject, "threads", default=1)


@check("harakiri-with-threads")
def harakiri_with_threads(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "harakiri")
    if entry is None or (_at_once(subject) or 0) < 2:
        return
    message = "a worker has one deadline, not one per request: each request that ends clears it, "
    message += "and a hanging request goes on"
    if positive(subject, "post-buffering") and not positive(subject, "gevent"):
        message += "; with post-buffering 2.0.31 also kills workers whose requests are in time"
    fix = Fix("set time limits in the app, for its database and its outgoing calls")
    yield Hit(entry.number, message, fix)


@check("no-harakiri")
def no_harakiri(subject: Subject) -> Iterator[Hit]:
    processes = subject.named("processes")
    if _at_once(subject) == 1 and processes and is_absent(subject, "harakiri"):
        yield hit(processes[-1], added(subject, "harakiri = 60"))


@check("harakiri-of-slow-uploads")
def slow_uploads(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "harakiri")
    direct = subject.named("http-socket") and not subject.named("http")
    if entry and _at_once(subject) == 1 and direct and is_absent(subject, "post-buffering"):
        yield hit(entry, added(subject, "post-buffering = 65536"))
