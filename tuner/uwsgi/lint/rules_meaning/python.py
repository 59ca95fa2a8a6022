"""The Python plugin: interpreters, apps, and what they are told."""

from collections.abc import Iterator

from tuner.uwsgi.ini import as_int
from tuner.uwsgi.lint.finding import Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, is_dynamic, quoted, removed, set_to
from tuner.uwsgi.lint.rules_meaning.certain import (
    added,
    always,
    is_absent,
    is_off,
    number,
    positive,
    settled,
    switched_off,
    switched_on,
    version_of,
)
from tuner.uwsgi.lint.rules_meaning.examples import file_with
from tuner.uwsgi.lint.subject import Subject

_THREADS_ALWAYS = (2, 0, 27)
_ONE_APP = ("module", "wsgi-file")
_MORE_APPS = ("mount", "worker-mount", "paste", "pecan", "ini-paste", "web3", "pump", "wsgi-lite")


def _sub_interpreter(subject: Subject) -> Iterator[Hit]:
    apps = subject.named(*_ONE_APP)
    if apps and is_absent(subject, *_MORE_APPS) and is_off(subject, "single-interpreter"):
        yield Hit(
            line=apps[-1].number,
            message="one app needs no interpreter of its own: C extensions such as numpy may fail "
            "in any but the main one",
            fix=added(subject, "single-interpreter = true"),
        )


def _always_on(subject: Subject) -> Iterator[Hit]:
    entry = switched_off(subject, "enable-threads")
    if entry and version_of(subject) >= _THREADS_ALWAYS:
        yield Hit(
            line=entry.number,
            message=f"{entry.key} {entry.value} does nothing: from 2.0.27 on threads are always "
            "enabled",
            fix=removed([entry.number], "leave it away", is_safe=True),
        )


def _threads_stand_still(subject: Subject) -> Iterator[Hit]:
    version = version_of(subject)
    if not version or version >= _THREADS_ALWAYS or number(subject, "threads", default=1) != 1:
        return
    apps = subject.named(*_ONE_APP, *_MORE_APPS)
    if apps and is_off(subject, "enable-threads"):
        yield Hit(
            line=apps[-1].number,
            message=f"in uWSGI {subject.catalogue.version} threads that the app starts stand "
            "still: those of Sentry, of metrics, of a scheduler",
            fix=added(subject, "enable-threads = true"),
        )


def _optimized(subject: Subject) -> Iterator[Hit]:
    entry = positive(subject, "optimize")
    if entry:
        yield Hit(
            line=entry.number,
            message=f"{entry.key} {as_int(entry.value)} leaves asserts out of all code, and from "
            "2 on docstrings",
            fix=removed([entry.number], "leave it away", is_safe=False),
        )


def _shows_tracebacks(subject: Subject) -> Iterator[Hit]:
    entry = switched_on(subject, "catch-exceptions")
    if entry:
        yield Hit(
            line=entry.number,
            message=f"{entry.key} sends the text and traceback of an exception to the client",
            fix=removed([entry.number], "leave it away: the log has them", is_safe=False),
        )


def _two_apps(subject: Subject) -> Iterator[Hit]:
    module, file = settled(subject, "module"), settled(subject, "wsgi-file")
    if module and file:
        yield Hit(
            line=file.number,
            message=f"{file.key} is skipped: {module.key} in line {module.number} is the app",
            fix=removed([file.number], f"keep {module.key} alone", is_safe=False),
        )


def _path_not_cut(subject: Subject) -> Iterator[Hit]:
    if not is_off(subject, "manage-script-name"):
        return
    for entry in always(subject, "mount"):
        point = entry.value.partition("=")[0].strip()
        if point.startswith("/") and point != "/":
            yield Hit(
                line=entry.number,
                message=f"without manage-script-name the app at {quoted(point)} is given paths "
                "that still begin with that, and an empty SCRIPT_NAME",
                fix=added(subject, "manage-script-name = true"),
            )


def _environ_strategy(subject: Subject) -> Iterator[Hit]:
    entry = settled(subject, "wsgi-env-behaviour")
    if entry and not is_dynamic(entry.value) and entry.value not in {"holy", "cheat"}:
        yield Hit(
            line=entry.number,
            message=f"{entry.key} is cheat or holy: with {quoted(entry.value)} uWSGI will not "
            "start",
            fix=set_to(entry, "cheat", "write cheat, which is the default", is_safe=False),
        )


_SERVED = ("http-socket = :8000", "master = true", "need-app = true", "die-on-term = true")

RULES = (
    Rule(
        id="U130",
        name="interpreter-of-its-own",
        severity=Severity.NOTE,
        why="uWSGI gives every app a Python interpreter of its own, for the case of several. "
        "Extensions that keep global state, numpy and those of many drivers, are not made for it.",
        example=file_of("processes = 2"),
        better=file_of("processes = 2", "single-interpreter = true"),
        evidence="2.0.31: `*** uWSGI is running in multiple interpreter mode ***`. numpy issue "
        "14384.",
        look=_sub_interpreter,
    ),
    Rule(
        id="U131",
        name="threads-cannot-be-disabled",
        severity=Severity.NOTE,
        why="The option has had no effect since 2.0.27. An app that was never run with threads "
        "enabled is now.",
        example=file_of("processes = 2", "enable-threads = false"),
        better=file_of("processes = 2"),
        evidence="2.0.31: `python threads support enabled`, and a thread of the app's ran on "
        "between two requests (core/init.c:435).",
        look=_always_on,
    ),
    Rule(
        id="U132",
        name="threads-of-the-app-stand-still",
        severity=Severity.WARNING,
        why="Before 2.0.27 the interpreter's lock is not given up between requests unless "
        "enable-threads or threads says so. What the app does in the background does not happen.",
        example=file_of("; uWSGI 2.0.26 or older", "processes = 2"),
        better=file_of("processes = 2", "enable-threads = true"),
        evidence="uWSGI's changelog of 2.0.27; core/init.c:435 of 2.0.31 always enables them. "
        "Older versions were not run here.",
        look=_threads_stand_still,
    ),
    Rule(
        id="U133",
        name="asserts-vanish",
        severity=Severity.NOTE,
        why="This is Python's -O: asserts are left out of the code, be they checks of the app's or "
        "of a library's, and gain next to nothing.",
        example=file_of("processes = 2", "optimize = 2"),
        better=file_of("processes = 2"),
        evidence="2.0.31 with `optimize = 2`: an app whose first line is `assert False` answers "
        "200, and its docstring is None.",
        look=_optimized,
    ),
    Rule(
        id="U134",
        name="tracebacks-for-clients",
        severity=Severity.WARNING,
        why="The answer to a request that fails then holds the exception's text, the lines of "
        "source around it, and the request's variables.",
        example=file_of("processes = 2", "catch-exceptions = true"),
        better=file_of("processes = 2"),
        evidence="2.0.31: `Exception: builtins.ValueError: hunter2` and the line that raised it "
        "stood in the body.",
        look=_shows_tracebacks,
    ),
    Rule(
        id="U135",
        name="two-apps-at-one-place",
        severity=Severity.WARNING,
        why="`module` and `wsgi-file` both name the one app. The module is served, the file is "
        "skipped, and one line of the log says so.",
        example=file_of("wsgi-file = app.py"),
        better=file_of("processes = 2"),
        evidence="2.0.31: `mountpoint  already configured. skip.`, whichever of the two comes "
        "first.",
        look=_two_apps,
    ),
    Rule(
        id="U136",
        name="mount-without-script-name",
        severity=Severity.WARNING,
        why="uWSGI chooses the app by the mount point and leaves the path as it is. Routes that "
        "the app declares from its own root do not match.",
        example=file_with(*_SERVED, "mount = /shop=shop:app"),
        better=file_with(*_SERVED, "mount = /shop=shop:app", "manage-script-name = true"),
        evidence="2.0.31 with `mount = /app=app.py`: SCRIPT_NAME is empty and PATH_INFO /app/x; "
        "with manage-script-name they are /app and /x.",
        look=_path_not_cut,
    ),
    Rule(
        id="U137",
        name="unknown-environ-strategy",
        severity=Severity.ERROR,
        why="There are two, cheat and holy. uWSGI does not start with another.",
        example=file_of("processes = 2", "wsgi-env-behaviour = fast"),
        better=file_of("processes = 2", "wsgi-env-behaviour = holy"),
        evidence="2.0.31: `invalid wsgi-env-behaviour value: fast`, exit code 1.",
        look=_environ_strategy,
    ),
)
