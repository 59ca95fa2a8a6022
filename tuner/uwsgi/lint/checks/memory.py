"""Memory against the box's limit, and workers that uWSGI replaces."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Fix, added
from tuner.uwsgi.lint.rule import Hit, advised, check, discouraged, hit, missing, needs
from tuner.uwsgi.lint.subject import (
    Entry,
    Subject,
    always,
    is_absent,
    is_off,
    number,
    positive,
    switched_on,
    word,
)

_FIXED_MB = 20
_PER_THREAD_MB = 76
_PROCESS_MB = 32  # default: the memory of one process of a small app under load
_APP_MB = 256  # default: the addresses that an app maps for libraries and its own data
_READS_MEMORY = ("reload-on-rss", "reload-on-as", "memory-report")
_LIFETIME_DELTA = "max-worker-lifetime-delta"
_LEAST_LIFETIME_S = 10
_FEW_REQUESTS = 100

discouraged("autoreload-in-production", positive, "py-autoreload")


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
    sentence = f"at most {fitting} fit" if fitting else "raise the limit: one does not fit"
    yield hit(
        entry,
        Fix(sentence),
        each_mb=each_mb,
        assumed=assumed,
        needed=needed,
        limit_mb=box.memory_mb,
    )


@check("reload-after-the-kernel")
def never_reached(subject: Subject) -> Iterator[Hit]:
    entry, limit_mb = positive(subject, "reload-on-rss"), subject.box.memory_mb
    processes = number(subject, "processes", default=1)
    if entry is None or not limit_mb or not processes:
        return
    bound_mb = as_int(entry.value)
    if bound_mb * processes > limit_mb:
        yield hit(
            entry,
            processes=processes,
            needed_mb=processes * bound_mb,
            limit_mb=limit_mb,
            share_mb=limit_mb // processes,
        )


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
    yield hit(entry, threads=threads, reserved_mb=reserved_mb, outcome=outcome)


@check("memory-read-each-request")
def reads_each_time(subject: Subject) -> Iterator[Hit]:
    for option in _READS_MEMORY:
        entry = positive(subject, option) or switched_on(subject, option)
        if entry and entry.value not in {"0", ""}:
            yield hit(entry)
            return


advised(
    "lazy-apps-copies",
    switched_on,
    "lazy-apps",
    when=lambda subject, _: (number(subject, "processes", default=1) or 0) > 1,
)


@check("recycled-together")
def all_at_once(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "max-requests")
    processes = number(subject, "processes", default=1)
    if entry is None or processes is None or processes < 2:
        return
    if is_absent(subject, "max-requests-delta"):
        most = as_int(entry.value)
        fix = added(subject, f"max-requests-delta = {max(1, most // 10)}")
        yield hit(entry, fix, processes=processes)


@check("lifetimes-end-together")
def lifetimes(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "max-worker-lifetime")
    processes = number(subject, "processes", default=1)
    if entry is None or processes is None or processes < 2:
        return
    if is_absent(subject, _LIFETIME_DELTA):
        apart = max(1, as_int(entry.value) // (2 * processes))
        yield hit(entry, added(subject, f"{_LIFETIME_DELTA} = {apart}"), processes=processes)


@check("lifetime-too-short")
def too_short(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "max-worker-lifetime")
    least = number(subject, "min-worker-lifetime", default=_LEAST_LIFETIME_S)
    if entry is None or least is None or as_int(entry.value) > least:
        return
    yield hit(entry, least=least)


advised(
    "recycled-too-often",
    positive,
    "max-requests",
    when=lambda _, entry: as_int(entry.value) < _FEW_REQUESTS,
)


# ---- Start, stop, reload, a broken app, and the log

_ENDS_GRACEFULLY = "unix_signal:15 gracefully_kill_them_all"
_TERM_HOOKS = ("unix_signal:15 ", "unix_signal:TERM")
_SERVES = (
    "module", "wsgi-file", "mount", "worker-mount", "paste", "pecan", "web3", "pump", "wsgi-lite",
    "ini-paste", "symcall", "eval", "http", "http-socket", "http11-socket", "socket",
)  # fmt: skip
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/", "/dev/null")


def _serves_an_app(subject: Subject) -> bool:
    """False for an emperor and for a base of other files, which have other needs."""
    return bool(subject.named(*_SERVES)) and not subject.named("emperor")


def _has_master(subject: Subject) -> bool:
    return _forces_master(subject) or not is_off(subject, "master")


def _forces_master(subject: Subject) -> bool:
    return any(e.option and "master" in e.option.forces for e in subject.entries)


def _reloads_on_term(subject: Subject) -> bool:
    """Whether a master runs that no hook and no other option ends on SIGTERM."""
    return (
        _serves_an_app(subject)
        and _has_master(subject)
        and not _hooks_on_term(subject)
        and is_off(subject, "exit-on-reload")
    )


def _hooks_on_term(subject: Subject) -> list[Entry]:
    hooks = subject.named("hook-master-start", "hook-asap", "hook-as-root")
    return [hook for hook in hooks if hook.value.startswith(_TERM_HOOKS)]


@check("stop-cuts-requests")
def stop_cuts_requests(subject: Subject) -> Iterator[Hit]:
    entry, grace = switched_on(subject, "die-on-term"), subject.box.grace
    if entry and grace and _has_master(subject) and not _hooks_on_term(subject):
        yield hit(entry, added(subject, f"hook-master-start = {_ENDS_GRACEFULLY}"), grace=grace)


@check("grace-shorter-than-requests")
def grace_too_short(subject: Subject) -> Iterator[Hit]:
    harakiri, grace = positive(subject, "harakiri"), subject.box.grace
    graceful = any(hook.value.strip() == _ENDS_GRACEFULLY for hook in _hooks_on_term(subject))
    if harakiri and grace and graceful and as_int(harakiri.value) > grace.seconds:
        yield hit(harakiri, grace=grace)


_APPS = (
    "module", "wsgi-file", "mount", "worker-mount", "paste", "pecan", "web3", "pump", "file",
    "psgi", "wsgi-lite", "ini-paste", "ini-paste-logged", "symcall", "eval", "rack", "lua", "cgi",
    "dlopen", "plugins", "plugin-dir", "import", "shared-import", "pyrun", "python-worker-override",
    "vhost", "static-map", "static-map2", "static-index", "check-static", "emperor", "http-to",
    "https-to", "worker-exec", "php-docroot", "http-subscription-server", "subscribe-to",
    "fastrouter", "zerg", "rawrouter", "sslrouter", "forkptyrouter", "http-modifier1",
)  # fmt: skip
"""What serves something, or may load it."""


@check("no-app")
def no_app(subject: Subject) -> Iterator[Hit]:
    """Sockets, and nothing behind them: each request gets 500."""
    sockets = subject.named("http", "http-socket", "http11-socket", "socket")
    if not sockets or not is_absent(subject, *_APPS) or subject.box.command:
        return
    if is_off(subject, "need-app") and not any(map(_may_load, subject.entries)):
        yield hit(sockets[0])


def _may_load(entry: Entry) -> bool:
    """Whether the line may bring an app by itself: a hook, or an option that is not known here."""
    return entry.option is None or entry.name.startswith(("hook", "route", "mount"))


@check("emperor-of-others")
def emperor(subject: Subject) -> Iterator[Hit]:
    entry = word(subject, "emperor")
    if entry is not None:
        yield hit(entry)


missing(
    "no-master",
    "master",
    lambda subject: _serves_an_app(subject) and not _forces_master(subject),
)
missing("no-need-app", "need-app", _serves_an_app)
missing("reloads-on-sigterm", "die-on-term", _reloads_on_term)
needs("errors-not-logged", switched_on, "disable-logging", "log-5xx")


advised("daemonized", always, "daemonize", "daemonize2")


advised("unknown-lock-engine", word, "lock-engine", when=lambda _, e: e.value != "ipcsem")


advised(
    "reload-that-ends",
    switched_on,
    "exit-on-reload",
    when=lambda subject, _: bool(subject.named("touch-reload", "py-autoreload", "fs-reload")),
)


@check("log-file-grows")
def log_file_grows(subject: Subject) -> Iterator[Hit]:
    entry = word(subject, "logto", "logto2")
    if entry is None or entry.value.startswith(_STREAMS):
        return
    rotated = subject.named("touch-logreopen", "touch-logrotate", "log-reopen", "log-truncate")
    if rotated or positive(subject, "log-maxsize") or ":" in entry.value:
        return
    yield hit(entry)
