"""The Python plugin: interpreters, apps, and their environment."""

from collections.abc import Iterator
from functools import partial

from tuner.uwsgi.lint.certainty import (
    always,
    is_absent,
    is_off,
    number,
    positive,
    settled,
    switched_off,
    switched_on,
    version_of,
    word,
)
from tuner.uwsgi.lint.checks.patterns import advised, discouraged
from tuner.uwsgi.lint.edits import added, quoted, removed, set_to
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Subject

_THREADS_ALWAYS = (2, 0, 27)
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
    when=lambda subject, _: version_of(subject) >= _THREADS_ALWAYS,
    fix=partial(removed, is_safe=True),
)


@check("threads-of-the-app-stand-still")
def threads_stand_still(subject: Subject) -> Iterator[Hit]:
    version = version_of(subject)
    if not version or version >= _THREADS_ALWAYS or number(subject, "threads", default=1) != 1:
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
