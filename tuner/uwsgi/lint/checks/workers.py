"""Worker processes: how many, on which CPUs, and how they share the work."""

import math
from collections.abc import Iterator
from functools import partial

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, added, quoted, removed, set_to
from tuner.uwsgi.lint.rule import Hit, advised, check, discouraged, hit, needs, top_of
from tuner.uwsgi.lint.subject import (
    HTTP,
    Subject,
    address_of,
    always,
    is_absent,
    is_off,
    number,
    of_environment,
    positive,
    settled,
    switched_off,
    switched_on,
    word,
)

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
    for option in ("processes", "threads", "offload-threads", "cheaper"):
        entry = settled(subject, option)
        if entry is None or _HOST_CPUS not in entry.value.replace("%%", ""):
            continue
        fix = Fix("write the number of CPUs that it may use")
        if subject.box.cpus and entry.value == _HOST_CPUS:
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


# ---- cheaper: fewer processes when there is little to do

_ALGORITHMS = frozenset({"spare", "backlog", "manual", "busyness"})
_BUSYNESS = "cheaper-busyness-"

needs("cheaper-rss-without-report", positive, "cheaper-rss-limit-soft", "memory-report")


@check("cheaper-not-below-processes")
def not_below(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "cheaper")
    processes = number(subject, "processes", default=1)
    if processes is not None and entry is None:
        yield from _not_below_in_environment(subject, processes)
    if entry is None or processes is None or as_int(entry.value) < processes:
        return
    most = str(processes - 1)
    fix = set_to(entry, most, f"set it to {most} or less")
    if processes <= 1:
        fix = removed(entry, "remove the line, or allow more processes")
    yield hit(entry, fix, processes=processes)


def _not_below_in_environment(subject: Subject, processes: int) -> Iterator[Hit]:
    for variable, value, option in of_environment(subject):
        if option.name == "cheaper" and as_int(value) >= processes and not subject.named("cheaper"):
            message = f"cheaper is {value} by {variable} in the environment, and not below "
            message += f"processes, which is {processes}: uWSGI does not start"
            fix = Fix(f"write cheaper = 0 here, or remove {variable} from the environment")
            yield Hit(top_of(subject), message, fix)


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


@check("cheaper-initial-alone")
def initial_alone(subject: Subject) -> Iterator[Hit]:
    entry, processes = positive(subject, "cheaper-initial"), number(subject, "processes", default=1)
    if entry and processes and processes > 1 and is_absent(subject, "cheaper"):
        yield hit(entry, added(subject, f"cheaper = {entry.value}"), processes=processes)


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


# ---- Several requests in one process: threads, gevent, async; and their time limit, harakiri

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


# ---- The Python plugin: interpreters, apps, and their environment

_ONE_APP = ("module", "wsgi-file")
_MORE_APPS = ("mount", "worker-mount", "paste", "pecan", "ini-paste", "web3", "pump", "wsgi-lite")

discouraged("asserts-vanish", positive, "optimize")
discouraged("tracebacks-for-clients", switched_on, "catch-exceptions")


@check("interpreter-of-its-own")
def sub_interpreter(subject: Subject) -> Iterator[Hit]:
    apps = subject.named(*_ONE_APP)
    if apps and is_absent(subject, *_MORE_APPS) and is_off(subject, "single-interpreter"):
        yield hit(apps[-1], added(subject, "single-interpreter = true"))


advised(
    "threads-cannot-be-disabled",
    switched_off,
    "enable-threads",
    fix=partial(removed, is_safe=True),
)


@check("threads-of-the-app-stand-still")
def threads_stand_still(subject: Subject) -> Iterator[Hit]:
    if number(subject, "threads", default=1) != 1:
        return
    apps = subject.named(*_ONE_APP, *_MORE_APPS)
    if apps and is_off(subject, "enable-threads"):
        yield hit(
            apps[-1],
            added(subject, "enable-threads = true"),
            version=subject.catalogue.version,
        )


@check("two-apps-at-one-place")
def two_apps(subject: Subject) -> Iterator[Hit]:
    module, file = settled(subject, "module"), settled(subject, "wsgi-file")
    if module and file:
        yield hit(file, removed(file, f"keep only {module.key}"), app=module)


@check("mount-without-script-name")
def path_not_cut(subject: Subject) -> Iterator[Hit]:
    if not is_off(subject, "manage-script-name"):
        return
    for entry in always(subject, "mount"):
        point = entry.value.partition("=")[0].strip()
        if point.startswith("/") and point != "/":
            yield hit(entry, added(subject, "manage-script-name = true"), point=quoted(point))


@check("unknown-environ-strategy")
def environ_strategy(subject: Subject) -> Iterator[Hit]:
    entry = word(subject, "wsgi-env-behaviour")
    if entry and entry.value not in {"holy", "cheat"}:
        message = f"{entry.key} must be cheat or holy: uWSGI does not start with "
        message += quoted(entry.value)
        yield Hit(entry.number, message, set_to(entry, "cheat", "write cheat, the default"))
