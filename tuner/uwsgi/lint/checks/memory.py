"""Memory against the box's limit, and workers that uWSGI replaces."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.certainty import is_absent, number, positive, switched_on, version_of
from tuner.uwsgi.lint.checks.patterns import discouraged
from tuner.uwsgi.lint.edits import added
from tuner.uwsgi.lint.finding import Fix
from tuner.uwsgi.lint.rule import Hit, check
from tuner.uwsgi.lint.subject import Subject

_FIXED_MB = 20
_PER_THREAD_MB = 76
_PROCESS_MB = 32  # default: the memory of one process of a small app under load
_APP_MB = 256  # default: the addresses that an app maps for libraries and its own data
_READS_MEMORY = ("reload-on-rss", "reload-on-as", "memory-report")
_HAS_DELTA = (2, 0, 21)
_LEAST_LIFETIME_S = 10
_FEW_REQUESTS = 100

discouraged(
    "autoreload-in-production",
    positive,
    "py-autoreload",
    "{key} checks the file of every module and reloads all workers when one changes: it is for "
    "development",
    "remove the line in production",
)


@check("processes-above-memory")
def above_limit(subject: Subject) -> Iterator[Hit]:
    box, entry = subject.box, positive(subject, "processes")
    if entry is None or not box.memory_mb:
        return
    count, each_mb = as_int(entry.value), box.memory_per_process_mb or _PROCESS_MB
    needed = count * each_mb
    if needed <= box.memory_mb:
        return
    assumed = "" if box.memory_per_process_mb else ", little for a Python app,"
    fitting = int(box.memory_mb // each_mb)
    message = f"{count} processes of {each_mb:g} MB{assumed} need {needed:g} MB; the limit is "
    message += f"{box.memory_mb} MB"
    sentence = f"at most {fitting} fit" if fitting else "raise the limit: one does not fit"
    yield Hit(entry.number, message, Fix(sentence))


@check("reload-after-the-kernel")
def never_reached(subject: Subject) -> Iterator[Hit]:
    entry, limit_mb = positive(subject, "reload-on-rss"), subject.box.memory_mb
    processes = number(subject, "processes", default=1)
    if entry is None or not limit_mb or not processes:
        return
    bound_mb = as_int(entry.value)
    if bound_mb * processes > limit_mb:
        message = f"{processes} processes of up to {bound_mb} MB need {processes * bound_mb} MB; "
        message += f"the limit is {limit_mb} MB, so the kernel kills one before its reload"
        yield Hit(entry.number, message, Fix(f"set it below {limit_mb // processes}"))


@check("address-space-of-threads")
def address_space(subject: Subject) -> Iterator[Hit]:
    threads = number(subject, "threads", default=1)
    entry = positive(subject, "reload-on-as", "evil-reload-on-as")
    if entry is None or threads is None or threads < 2:
        return
    bound_mb, reserved_mb = as_int(entry.value), _FIXED_MB + _PER_THREAD_MB * threads
    if bound_mb >= reserved_mb + (subject.box.memory_per_process_mb or _APP_MB):
        return
    outcome = (
        f"leaves {bound_mb - reserved_mb} MB for the app and its libraries"
        if bound_mb > reserved_mb
        else "ends a worker after every request, as soon as it may"
    )
    message = f"{threads} threads reserve about {reserved_mb} MB of addresses at start-up: "
    message += f"{entry.key} {bound_mb} {outcome}"
    yield Hit(entry.number, message, Fix("use reload-on-rss, which counts memory in use"))


@check("memory-read-each-request")
def reads_each_time(subject: Subject) -> Iterator[Hit]:
    for option in _READS_MEMORY:
        entry = positive(subject, option) or switched_on(subject, option)
        if entry and entry.value not in {"0", ""}:
            message = f"{entry.key} reads /proc/self/stat after every request: four system calls "
            message += "in addition to about six"
            fix = Fix("for short requests, limit workers by max-requests instead")
            yield Hit(entry.number, message, fix)
            return


@check("lazy-apps-copies")
def copies(subject: Subject) -> Iterator[Hit]:
    entry = switched_on(subject, "lazy-apps")
    if entry and (number(subject, "processes", default=1) or 0) > 1:
        message = "with lazy-apps each process loads the app separately and shares no memory"
        yield Hit(entry.number, message, Fix("remove the line if the app can fork after import"))


@check("recycled-together")
def all_at_once(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "max-requests")
    processes = number(subject, "processes", default=1)
    if entry is None or processes is None or processes < 2 or version_of(subject) < _HAS_DELTA:
        return
    if is_absent(subject, "max-requests-delta"):
        most = as_int(entry.value)
        message = f"all {processes} processes reach {most} requests at about the same time, and "
        message += "end together"
        fix = added(subject, f"max-requests-delta = {max(1, most // 10)}")
        yield Hit(entry.number, message, fix)


@check("lifetime-too-short")
def too_short(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "max-worker-lifetime")
    least = number(subject, "min-worker-lifetime", default=_LEAST_LIFETIME_S)
    if entry is None or least is None or as_int(entry.value) > least:
        return
    message = f"max-worker-lifetime {as_int(entry.value)} is not above min-worker-lifetime, which "
    message += f"is {least}: uWSGI does not start"
    yield Hit(entry.number, message, Fix("write the lifetime in seconds, for example 3600"))


@check("recycled-too-often")
def few_requests(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "max-requests")
    if entry and as_int(entry.value) < _FEW_REQUESTS:
        message = f"under load a worker serves {as_int(entry.value)} requests and ends as soon as "
        message += f"min-worker-lifetime allows: every {_LEAST_LIFETIME_S} s by default"
        yield Hit(entry.number, message, Fix("use thousands, or remove the line"))
