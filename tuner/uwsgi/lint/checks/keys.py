"""Keys: uWSGI silently ignores the ones that it does not know."""

from collections.abc import Callable, Iterator

from tuner.uwsgi.lint.certainty import numbers_of
from tuner.uwsgi.lint.edits import quoted, removed, text_of, written_as
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.references import includes_others
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.lint.unknown_keys import UnknownKey, Why, unknown_keys
from tuner.uwsgi.options import elsewhere, known

_LIBRARIES = ("pcre", "ssl", "xml", "yaml", "zlib", "libcap")
"""Libraries that builds of uWSGI often lack. Most builds have the known plugins."""


def _each(rule: str, why: Why, hit: Callable[[UnknownKey], Hit]) -> None:
    def hits(subject: Subject) -> Iterator[Hit]:
        return (hit(found) for found in unknown_keys(subject) if found.why is why)

    check(rule)(hits)


def _spelling(found: UnknownKey) -> Hit:
    entry, meant = found.entry, found.meant
    message = f"uWSGI ignores {quoted(entry.key)}: write {meant}, with small letters and hyphens"
    fix = written_as(entry, _renamed(entry, meant), f"write {meant}", is_safe=True)
    return Hit(entry.number, message, fix)


def _renamed(entry: Entry, name: str) -> str:
    return text_of(entry, entry.value).strip(" \t").replace(entry.key, name, 1)


def _without_equals(found: UnknownKey) -> Hit:
    line = f"{found.meant} = {found.value}"
    message = f"uWSGI ignores {quoted(found.entry.key)}: a name and its value need `=` between them"
    fix = written_as(found.entry, line, f"write {quoted(line)}", is_safe=True)
    return Hit(found.entry.number, message, fix)


_each("key-spelling", Why.SPELLING, _spelling)
_each("colon-for-equals", Why.COLON, _without_equals)
_each("no-equals-sign", Why.NO_EQUALS, _without_equals)


@check("misspelt-key")
def misspelt(subject: Subject) -> Iterator[Hit]:
    severity = _of_certainty(subject)
    for found in unknown_keys(subject, guess=True):
        if found.why is Why.MISSPELT:
            entry, meant = found.entry, found.meant
            sentence = f"write {meant}, if you mean that"
            fix = written_as(entry, _renamed(entry, meant), sentence)
            yield Hit(entry.number, _misspelling(found), fix, severity)


def _misspelling(found: UnknownKey) -> str:
    key, meant = quoted(found.entry.key), found.meant
    if len(found.entry.key.strip("-")) == 1:
        return f"uWSGI ignores {key}: it means {meant} only on the command line, not in a file"
    return f"uWSGI ignores {key}: there is no such option; the nearest is {meant}"


@check("unknown-key")
def unknown(subject: Subject) -> Iterator[Hit]:
    severity, catalogue = _of_certainty(subject), subject.catalogue
    build = "this build of uWSGI" if catalogue.is_of_build else "uWSGI"
    for found in unknown_keys(subject, guess=True):
        if found.why is Why.NOTHING:
            yield hit(
                found.entry,
                removed(found.entry),
                severity,
                build=build,
                version=catalogue.version,
                name=quoted(found.entry.key),
            )


def _of_certainty(subject: Subject) -> Severity:
    """How certain it is that nothing uses the line.

    An included file may use its %(name). Without the options of a build, it may be an option of an
    unknown plugin.
    """
    if includes_others(subject):
        return Severity.NOTE
    return Severity.ERROR if subject.catalogue.is_of_build else Severity.WARNING


@check("not-in-this-build")
def other_build(subject: Subject) -> Iterator[Hit]:
    for found in unknown_keys(subject):
        option = known().find(found.entry.key) if found.why is Why.OTHER_BUILD else None
        if option is not None:
            needs = f"it needs {option.needs}" if option.needs else "the build lacks it"
            yield hit(found.entry, needs=needs, missing=option.needs or "it")
    if not subject.catalogue.is_of_build:
        yield from _may_be_missing(subject)


def _may_be_missing(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        needs = entry.option.needs if entry.option else ""
        missing = [library for library in needs.split(", ") if library in _LIBRARIES]
        if missing:
            message = f"{entry.key} exists only when uWSGI was built with {' and '.join(missing)}"
            fix = Fix("look for it in `uwsgi --dump-options`, or lint with --image")
            yield Hit(entry.number, message, fix, Severity.NOTE)


@check("not-in-this-release")
def other_release(subject: Subject) -> Iterator[Hit]:
    version, is_of_build = subject.catalogue.version, subject.catalogue.is_of_build
    for found in unknown_keys(subject):
        option = elsewhere(found.entry.key) if found.why is Why.OTHER_RELEASE else None
        if option is not None:
            key = found.entry.key
            message = f"uWSGI {version} has no {key} and ignores it: it came with {option.since}"
            yield Hit(found.entry.number, message, removed(found.entry, is_safe=True))
    for entry in subject.entries:
        since = entry.option.since if entry.option else None
        if since and numbers_of(since) > numbers_of(version) and not is_of_build:
            yield Hit(entry.number, f"{entry.key} came with uWSGI {since}: {version} ignores it")


@check("lazy-for-lazy-apps")
def lazy(subject: Subject) -> Iterator[Hit]:
    for entry in subject.named("lazy"):
        yield hit(entry, written_as(entry, _renamed(entry, "lazy-apps"), "write lazy-apps"))
