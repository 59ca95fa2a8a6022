"""Start, stop, reload, a broken app, and the log."""

from collections.abc import Iterator

from tuner.uwsgi.lint.certainty import always, is_off, positive, switched_on, word
from tuner.uwsgi.lint.checks.patterns import advised, missing, needs
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Subject

_TERM_HOOKS = ("unix_signal:15 ", "unix_signal:TERM")
_SERVES = (
    "module", "wsgi-file", "mount", "worker-mount", "paste", "pecan", "web3", "pump", "wsgi-lite",
    "ini-paste", "symcall", "eval", "http", "http-socket", "http11-socket", "socket",
)  # fmt: skip
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/", "/dev/null")


def _serves_an_app(subject: Subject) -> bool:
    """False for an emperor and for a base of other files, which have other needs."""
    return bool(subject.named(*_SERVES)) and not subject.named("emperor")


def _is_master_forced(subject: Subject) -> bool:
    return any(e.option and "master" in e.option.forces for e in subject.entries)


def _reloads_on_term(subject: Subject) -> bool:
    """Whether a master runs that no hook and no other option ends on SIGTERM."""
    hooks = subject.named("hook-master-start", "hook-asap", "hook-as-root")
    return (
        _serves_an_app(subject)
        and (_is_master_forced(subject) or not is_off(subject, "master"))
        and not any(hook.value.startswith(_TERM_HOOKS) for hook in hooks)
        and is_off(subject, "exit-on-reload")
    )


missing(
    "no-master",
    "master",
    lambda subject: _serves_an_app(subject) and not _is_master_forced(subject),
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
