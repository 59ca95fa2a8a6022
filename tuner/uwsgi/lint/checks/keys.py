"""Keys: uWSGI silently ignores the ones that it does not know."""

from collections.abc import Callable, Iterator

from tuner.uwsgi.command_line import Argument
from tuner.uwsgi.lint.finding import Fix, Severity, quoted, removed, text_of, top_of, written_as
from tuner.uwsgi.lint.references import UnknownKey, Why, includes_others, unknown_keys
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Entry, Subject, invocation_of, of_environment, switched_on
from tuner.uwsgi.options import known, later_release
from tuner.uwsgi.options.guessing import Kind

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
            yield Hit(entry.number, _misspelling(subject, found), fix, severity)


def _misspelling(subject: Subject, found: UnknownKey) -> str:
    key, meant = quoted(found.entry.key), found.meant
    does = f"does not start with {key}" if switched_on(subject, "strict") else f"ignores {key}"
    if len(found.entry.key.strip("-")) == 1:
        return f"uWSGI {does}: it means {meant} only on the command line, not in a file"
    return f"uWSGI {does}: there is no such option; the nearest is {meant}"


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
    """How certain it is that nothing uses the line; with strict, uWSGI says so itself.

    An included file may use its %(name). Without the options of a build, it may be an option of an
    unknown plugin.
    """
    if includes_others(subject):
        return Severity.NOTE
    is_certain = subject.catalogue.is_of_build or switched_on(subject, "strict")
    return Severity.ERROR if is_certain else Severity.WARNING


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
    version = subject.catalogue.version
    does = (
        "does not start with it, because of strict"
        if switched_on(subject, "strict")
        else "ignores it"
    )
    for found in unknown_keys(subject):
        entry = found.entry
        since = later_release(entry.key, version) if found.why is Why.OTHER_RELEASE else None
        if since is not None:
            # An option of the next uWSGI of the user may wait for it; others have no future.
            is_released = known().find(entry.key) is not None
            advice = f"use uWSGI {since}, or remove the line" if is_released else "remove the line"
            fix = removed(entry, advice, is_safe=not is_released)
            yield hit(entry, fix, since=since, version=version, does=does)


@check("lazy-for-lazy-apps")
def lazy(subject: Subject) -> Iterator[Hit]:
    for entry in subject.named("lazy"):
        yield hit(entry, written_as(entry, _renamed(entry, "lazy-apps"), "write lazy-apps"))


# ---- The command and the environment: they set options too

_CANNOT_BE_OVERRIDDEN = frozenset({Kind.LIST, Kind.ACTION})
_TAKES_NONE = "so-send-timeout"


def _conflicts(subject: Subject, *, after: bool) -> Iterator[tuple[Argument, Entry]]:
    """Arguments after or before the file with another value than the file's."""
    invocation = invocation_of(subject)
    if invocation is None or not invocation.reads_file:
        return
    for argument in invocation.after if after else invocation.before:
        option = argument.option
        if option is None or option.kind in _CANNOT_BE_OVERRIDDEN:
            continue
        entry = next(reversed(subject.named(argument.name)), None)
        if entry and entry.value != (argument.value or "true"):
            yield argument, entry


@check("command-wins")
def overriding(subject: Subject) -> Iterator[Hit]:
    for argument, entry in _conflicts(subject, after=True):
        yield hit(entry, argument=argument)


@check("command-loses")
def losing(subject: Subject) -> Iterator[Hit]:
    for argument, entry in _conflicts(subject, after=False):
        if not entry.line.conditional:
            message = f"the command has `{argument.text}` before the file, and the file overrides "
            message += f"it with {entry.value}"
            fix = Fix(f"remove {argument.key} from the command, or put it after the file")
            yield Hit(entry.number, message, fix)
    for variable, value, option in of_environment(subject):
        entries = () if option.kind is Kind.LIST else subject.named(option.name)
        if entries and not entries[-1].line.conditional and entries[-1].value != value:
            message = f"the environment has {variable}={value}, and the file overrides it "
            message += f"with {entries[-1].value}"
            yield Hit(entries[-1].number, message, Fix(f"remove {variable} from the environment"))


@check("environment-sets-options")
def from_environment(subject: Subject) -> Iterator[Hit]:
    for variable, value, option in of_environment(subject):
        entries = subject.named(option.name)
        if entries and (option.kind is not Kind.LIST or entries[-1].value == value):
            continue  # the file wins, or has the same value
        verb = "adds to" if option.kind is Kind.LIST and entries else "sets"
        message = f"the environment has {variable}={value}, which {verb} {option.name}; "
        message += "this file does not show it"
        fix = Fix(f"set {option.name} here, and remove {variable} from the environment")
        yield Hit(top_of(subject), message, fix)


@check("command-without-file")
def reads_no_file(subject: Subject) -> Iterator[Hit]:
    invocation = invocation_of(subject)
    if invocation is None or invocation.reads_file or "UWSGI_INI" in subject.box.environ:
        return
    message = f"the command `{' '.join(subject.box.command)}` reads no configuration file"
    yield Hit(top_of(subject), message, Fix("run `uwsgi --ini` with this file"))


@check("value-not-taken")
def value_not_taken(subject: Subject) -> Iterator[Hit]:
    invocation = invocation_of(subject)
    if invocation is None or not invocation.stray:
        return
    stray = invocation.stray[0]
    for argument in invocation.arguments:
        option = argument.option
        if option and _TAKES_NONE in option.names and argument.value is None:
            message = f"{argument.key} takes no value on the command line: uWSGI takes {stray} "
            message += "for a file and does not start"
            yield Hit(top_of(subject), message, Fix(f"write `{_TAKES_NONE} = {stray}` in the file"))
