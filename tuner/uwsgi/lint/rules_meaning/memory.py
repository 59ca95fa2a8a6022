"""Memory: what the file asks for against what the box has."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of
from tuner.uwsgi.lint.rules_meaning.certain import number, positive, switched_on
from tuner.uwsgi.lint.subject import Subject

_FIXED_MB = 20
_PER_THREAD_MB = 76
_PROCESS_MB = 32  # that a process of a small app takes under load, where nobody says
_APP_MB = 256  # of addresses: what an app maps of libraries and of its own, where nobody says
_READS_MEMORY = ("reload-on-rss", "reload-on-as", "memory-report")


def _above_limit(subject: Subject) -> Iterator[Hit]:
    box, entry = subject.box, positive(subject, "processes")
    if entry is None or not box.memory_mb:
        return
    count, each_mb = as_int(entry.value), box.memory_per_process_mb or _PROCESS_MB
    needed = count * each_mb
    if needed <= box.memory_mb:
        return
    assumed = "" if box.memory_per_process_mb else ", which is little for a Python app,"
    fitting = int(box.memory_mb // each_mb)
    yield Hit(
        line=entry.number,
        message=f"{count} processes of {each_mb:g} MB{assumed} are {needed:g} MB, and "
        f"{box.memory_mb} MB are allowed",
        fix=Fix(
            sentence=f"at most {fitting} fit" if fitting else "allow more memory: not even one fits"
        ),
    )


def _never_reached(subject: Subject) -> Iterator[Hit]:
    entry, limit_mb = positive(subject, "reload-on-rss"), subject.box.memory_mb
    processes = number(subject, "processes", default=1)
    if entry is None or not limit_mb or not processes:
        return
    bound_mb = as_int(entry.value)
    if bound_mb * processes > limit_mb:
        yield Hit(
            line=entry.number,
            message=f"{processes} processes of up to {bound_mb} MB are {processes * bound_mb} MB, "
            f"and {limit_mb} MB are allowed: the kernel kills one before it is reloaded",
            fix=Fix(sentence=f"set it below {limit_mb // processes}"),
        )


def _address_space(subject: Subject) -> Iterator[Hit]:
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
    yield Hit(
        line=entry.number,
        message=f"{threads} threads reserve about {reserved_mb} MB of addresses from the start: "
        f"{entry.key} {bound_mb} {outcome}",
        fix=Fix(sentence="use reload-on-rss, which counts memory that is really used"),
    )


def _reads_each_time(subject: Subject) -> Iterator[Hit]:
    for option in _READS_MEMORY:
        entry = positive(subject, option) or switched_on(subject, option)
        if entry and entry.value not in {"0", ""}:
            yield Hit(
                line=entry.number,
                message=f"{entry.key} reads /proc/self/stat after every request: four system calls "
                "more on about six",
                fix=Fix(sentence="where requests are short, bound workers by max-requests instead"),
            )
            return


def _copies(subject: Subject) -> Iterator[Hit]:
    entry = switched_on(subject, "lazy-apps")
    if entry is None or (number(subject, "processes", default=1) or 0) < 2:
        return
    yield Hit(
        line=entry.number,
        message="with lazy-apps every process loads the app for itself and shares none of it",
        fix=Fix(sentence="leave it away where the app bears a fork after its import"),
    )


RULES = (
    Rule(
        id="U100",
        name="processes-above-memory",
        severity=Severity.WARNING,
        why="Each process grows to its own size under load. Past the limit the kernel kills one in "
        "the middle of a request; the container itself does not count as killed.",
        example=file_of("; where 512 MB are allowed and a process takes 80", "processes = 8"),
        better=file_of("processes = 4"),
        evidence="2.0.31 under `--memory`: `DAMN ! worker 1 (pid: 8) died, killed by signal 9`, "
        "five times, while docker said OOMKilled false.",
        look=_above_limit,
    ),
    Rule(
        id="U101",
        name="reload-after-the-kernel",
        severity=Severity.WARNING,
        why="reload-on-rss is a bound for each worker. When all may grow to it, they have to fit "
        "together, or the kernel is first and does not wait for the request's end.",
        example=file_of("; where 512 MB are allowed", "processes = 4", "reload-on-rss = 256"),
        better=file_of("processes = 4", "reload-on-rss = 100"),
        evidence="core/utils.c:1192: the bound is looked at after a request, for one worker alone.",
        look=_never_reached,
    ),
    Rule(
        id="U102",
        name="address-space-of-threads",
        severity=Severity.WARNING,
        why="reload-on-as counts addresses that are reserved, used or not. Each thread reserves "
        "some 76 MB of them, so that workers are recycled without having grown.",
        example=file_of("processes = 2", "threads = 8", "reload-on-as = 300"),
        better=file_of("processes = 2", "threads = 8", "reload-on-rss = 200"),
        evidence="2.0.31: 16, 243 and 1150 MB of addresses with 1, 4 and 16 threads, at 1 MB more "
        "of memory in use. With 8 threads and the bound 300 the worker ended after the first "
        "request that min-worker-lifetime let it.",
        look=_address_space,
    ),
    Rule(
        id="U103",
        name="memory-read-each-request",
        severity=Severity.NOTE,
        why="The option is not free: the worker opens, reads and closes a file of the kernel's "
        "after every request. A request of milliseconds does not notice, one of microseconds does.",
        example=file_of("processes = 2", "reload-on-rss = 200"),
        better=file_of("processes = 2", "max-requests = 5000", "max-requests-delta = 500"),
        evidence="strace of 2.0.31: ten system calls to a request instead of six, with each of "
        "reload-on-rss, reload-on-as and memory-report.",
        look=_reads_each_time,
    ),
    Rule(
        id="U104",
        name="lazy-apps-copies",
        severity=Severity.NOTE,
        why="Workers that are forked from a loaded app share its memory until they write to it. "
        "With lazy-apps there is nothing to share.",
        example=file_of("processes = 4", "lazy-apps = true"),
        better=file_of("processes = 4"),
        evidence="2.0.31, four workers of an app of 54 MB: 195 MB with lazy-apps, 60 MB without.",
        look=_copies,
    ),
)
