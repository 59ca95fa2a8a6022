"""The master process: start, stop, and what happens when the app is broken."""

from collections.abc import Iterator

from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, is_dynamic, quoted, set_to
from tuner.uwsgi.lint.rules_meaning.certain import (
    added,
    always,
    is_absent,
    is_off,
    settled,
    switched_off,
    switched_on,
    top_of,
)
from tuner.uwsgi.lint.rules_meaning.examples import file_with
from tuner.uwsgi.lint.subject import Subject

_TERM_HOOKS = ("unix_signal:15 ", "unix_signal:TERM")
_APP_OPTIONS = (
    "module", "wsgi-file", "mount", "worker-mount", "paste", "pecan", "web3", "pump", "wsgi-lite",
    "ini-paste", "symcall", "eval",
)  # fmt: skip


def _is_of_an_app(subject: Subject) -> bool:
    """Whether it serves anything: an emperor, or a base of other files, has needs of its own."""
    from_here = (*_APP_OPTIONS, "http", "http-socket", "http11-socket", "socket")
    return bool(subject.named(*from_here)) and not subject.named("emperor")


def _is_forced(subject: Subject) -> bool:
    return any(e.option and "master" in e.option.forces for e in subject.entries)


def _no_master(subject: Subject) -> Iterator[Hit]:
    if not _is_of_an_app(subject) or _is_forced(subject):
        return
    off = switched_off(subject, "master")
    if off or is_absent(subject, "master"):
        fix = added(subject, "master = true")
        if off:
            fix = set_to(off, "true", "switch it on", is_safe=False)
        yield Hit(
            line=off.number if off else top_of(subject),
            message="without a master nobody replaces a worker that dies, and there are no stats",
            fix=fix,
        )


def _no_need_app(subject: Subject) -> Iterator[Hit]:
    if not _is_of_an_app(subject):
        return
    off = switched_off(subject, "need-app")
    if off or is_absent(subject, "need-app"):
        fix = added(subject, "need-app = true")
        if off:
            fix = set_to(off, "true", "switch it on", is_safe=False)
        yield Hit(
            line=off.number if off else top_of(subject),
            message="without need-app an app that cannot be imported is served all the same, as "
            "500 for every request",
            fix=fix,
        )


def _reloads_on_term(subject: Subject) -> Iterator[Hit]:
    if not _is_of_an_app(subject) or (is_off(subject, "master") and not _is_forced(subject)):
        return
    hooks = subject.named("hook-master-start", "hook-asap", "hook-as-root")
    if any(hook.value.startswith(_TERM_HOOKS) for hook in hooks):
        return
    off = switched_off(subject, "die-on-term")
    if (off or is_absent(subject, "die-on-term")) and is_off(subject, "exit-on-reload"):
        fix = added(subject, "die-on-term = true")
        if off:
            fix = set_to(off, "true", "switch it on", is_safe=False)
        yield Hit(
            line=off.number if off else top_of(subject),
            message="without die-on-term SIGTERM means reload: `docker stop` waits its 10 s in "
            "vain and kills uWSGI with all requests in it",
            fix=fix,
        )


def _daemonized(subject: Subject) -> Iterator[Hit]:
    for entry in always(subject, "daemonize", "daemonize2"):
        yield Hit(
            line=entry.number,
            message=f"{entry.key} sends uWSGI to the background: a container ends at once, for its "
            "first process has",
            fix=Fix(sentence="leave it away, and let the container or systemd do it"),
        )


def _lock_engine(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "lock-engine")
    if entry and not is_dynamic(entry.value) and entry.value != "ipcsem":
        yield Hit(
            line=entry.number,
            message=f"there is no lock engine {quoted(entry.value)}: uWSGI will not start",
            fix=Fix(sentence="leave it away for the default, or use ipcsem"),
        )


def _exits_on_reload(subject: Subject) -> Iterator[Hit]:
    entry = switched_on(subject, "exit-on-reload")
    if entry and subject.named("touch-reload", "py-autoreload", "fs-reload"):
        yield Hit(
            line=entry.number,
            message="exit-on-reload makes an end of what the reload option of this file asks for",
            fix=Fix(sentence="keep one of the two"),
        )


_HTTP, _APP = "http-socket = :8000", "module = app"

RULES = (
    Rule(
        id="U090",
        name="no-master",
        severity=Severity.WARNING,
        why="The master starts workers again that die by a signal, by harakiri or for want of "
        "memory. Without one the first crash is the last.",
        example=file_with(_HTTP, _APP, "need-app = true"),
        better=file_of("processes = 2"),
        evidence="2.0.31: `*** WARNING: you are running uWSGI without its master process manager "
        "***`; a killed worker was not replaced. Some options switch it on, as stats does.",
        look=_no_master,
    ),
    Rule(
        id="U091",
        name="no-need-app",
        severity=Severity.WARNING,
        why="A broken import does not stop uWSGI. The container stays up, looks healthy to "
        "whoever asks for an open port, and answers 500 until somebody reads the log.",
        example=file_with(_HTTP, _APP, "master = true", "die-on-term = true"),
        better=file_of("processes = 2"),
        evidence="2.0.31: `*** no app loaded. going in full dynamic mode ***` and status 500; with "
        "need-app exit code 22.",
        look=_no_need_app,
    ),
    Rule(
        id="U092",
        name="reloads-on-sigterm",
        severity=Severity.WARNING,
        why="docker, Kubernetes and systemd stop a service by SIGTERM, which to uWSGI means "
        "reload. It starts anew, and is killed at the end of the grace time.",
        example=file_with(_HTTP, _APP, "master = true", "need-app = true"),
        better=file_of("processes = 2"),
        evidence="2.0.31 after SIGTERM: `...brutally killing workers...`, `gracefully (RE)spawned "
        "uWSGI master process`, and it runs on; with die-on-term exit code 0. Without a master "
        "it ends with exit code 30. exit-on-reload and a hook on signal 15 do as well.",
        look=_reloads_on_term,
    ),
    Rule(
        id="U093",
        name="daemonized",
        severity=Severity.WARNING,
        why="A container lives as long as its first process. That one forks and ends, and the "
        "container with it, with exit code 0; outside of containers the log goes to a file that "
        "nobody rotates.",
        example=file_of("processes = 2", "daemonize = /var/log/uwsgi.log"),
        better=file_of("processes = 2"),
        evidence="2.0.31: the process that was started ended with exit code 0 within a second.",
        look=_daemonized,
    ),
    Rule(
        id="U094",
        name="unknown-lock-engine",
        severity=Severity.ERROR,
        why="There is the default, which has no name here, and ipcsem. uWSGI does not start with "
        "another.",
        example=file_of("processes = 2", "lock-engine = pthread"),
        better=file_of("processes = 2", "lock-engine = ipcsem"),
        evidence='2.0.31: `unable to find lock engine "foo"`, exit code 1.',
        look=_lock_engine,
    ),
    Rule(
        id="U095",
        name="reload-that-ends",
        severity=Severity.WARNING,
        why="With exit-on-reload every reload is the end of uWSGI, also the one that a touched or "
        "changed file asks for.",
        example=file_of("processes = 2", "exit-on-reload = true", "touch-reload = /run/deployed"),
        better=file_of("processes = 2", "touch-reload = /run/deployed"),
        evidence="2.0.31 with exit-on-reload: `uWSGI: GAME OVER (insert coin)`, exit code 0 "
        "(core/master_utils.c:429).",
        look=_exits_on_reload,
    ),
)
