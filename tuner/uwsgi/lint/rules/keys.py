"""Keys: uWSGI ignores the ones that it does not know, in silence."""

from collections.abc import Callable, Iterator

from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, quoted, removed, text_of, written_as
from tuner.uwsgi.lint.rules.placeholders import includes_others
from tuner.uwsgi.lint.rules.strangers import Stranger, Why, strangers
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options import elsewhere, known

_LIBRARIES = ("pcre", "ssl", "xml", "yaml", "zlib", "libcap")
"""What builds of uWSGI often go without; the plugins that we know of come with most."""


def _each(why: Why, hit: Callable[[Stranger], Hit]) -> Callable[[Subject], Iterator[Hit]]:
    def look(subject: Subject) -> Iterator[Hit]:
        return (hit(found) for found in strangers(subject) if found.why is why)

    return look


def _spelling(found: Stranger) -> Hit:
    entry, meant = found.entry, found.meant
    message = f"{quoted(entry.key)} is ignored: options have small letters and hyphens, as {meant}"
    fix = written_as(entry, _renamed(entry, meant), f"write {meant}", is_safe=True)
    return Hit(line=entry.number, message=message, fix=fix)


def _renamed(entry: Entry, name: str) -> str:
    return text_of(entry, entry.value).strip(" \t").replace(entry.key, name, 1)


def _without_equals(found: Stranger) -> Hit:
    line = f"{found.meant} = {found.value}"
    message = f"{quoted(found.entry.key)} is ignored: a name and its value have `=` between them"
    fix = written_as(found.entry, line, f"write {quoted(line)}", is_safe=True)
    return Hit(line=found.entry.number, message=message, fix=fix)


def _misspelt(subject: Subject) -> Iterator[Hit]:
    severity = _of_certainty(subject)
    for found in strangers(subject, guess=True):
        if found.why is not Why.SLIP:
            continue
        entry, meant = found.entry, found.meant
        new = _renamed(entry, meant)
        fix = written_as(entry, new, f"write {meant}, if that is meant", is_safe=False)
        yield Hit(line=entry.number, message=_slip(found), fix=fix, severity=severity)


def _slip(found: Stranger) -> str:
    key, meant = quoted(found.entry.key), found.meant
    if len(found.entry.key.strip("-")) == 1:
        return f"{key} is ignored: short for {meant} on a command line alone, not in a file"
    return f"there is no option {key}: uWSGI ignores it; {meant} is the nearest"


def _unknown(subject: Subject) -> Iterator[Hit]:
    severity = _of_certainty(subject)
    for found in strangers(subject, guess=True):
        if found.why is not Why.NOTHING:
            continue
        entry = found.entry
        where = (
            f"this build of uWSGI {subject.catalogue.version}"
            if (subject.catalogue.is_of_build)
            else f"uWSGI {subject.catalogue.version}"
        )
        message = f"{where} has no option {quoted(entry.key)}, and no %({entry.key}) uses it"
        fix = removed([entry.number], "leave the line out", is_safe=False)
        yield Hit(line=entry.number, message=message, fix=fix, severity=severity)


def _of_certainty(subject: Subject) -> Severity:
    """How sure it is that nothing uses the line.

    Another file that is included may hold its %(name); and until a build was asked it may be an
    option of a plugin that we do not know of.
    """
    if includes_others(subject):
        return Severity.NOTE
    return Severity.ERROR if subject.catalogue.is_of_build else Severity.WARNING


def _other_build(subject: Subject) -> Iterator[Hit]:
    for found in strangers(subject):
        option = known().find(found.entry.key) if found.why is Why.OTHER_BUILD else None
        if option is not None:
            needs = f"it needs {option.needs}" if option.needs else "it was made without it"
            message = f"this build of uWSGI has no {found.entry.key} and ignores it: {needs}"
            fix = Fix(sentence=f"build uWSGI with {option.needs or 'it'}, or leave the line out")
            yield Hit(line=found.entry.number, message=message, fix=fix)
    if not subject.catalogue.is_of_build:
        yield from _may_be_missing(subject)


def _may_be_missing(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        needs = entry.option.needs if entry.option else ""
        missing = [library for library in needs.split(", ") if library in _LIBRARIES]
        if missing:
            message = f"{entry.key} exists only where uWSGI was built with {' and '.join(missing)}"
            fix = Fix(sentence="look for it in `uwsgi --dump-options`, or lint with --image")
            yield Hit(line=entry.number, message=message, fix=fix, severity=Severity.NOTE)


def _other_release(subject: Subject) -> Iterator[Hit]:
    for found in strangers(subject):
        option = elsewhere(found.entry.key) if found.why is Why.OTHER_RELEASE else None
        if option is not None:
            version, key = subject.catalogue.version, found.entry.key
            message = f"uWSGI {version} has no {key} and ignores it: it came with {option.since}"
            fix = removed([found.entry.number], "leave the line out", is_safe=True)
            yield Hit(line=found.entry.number, message=message, fix=fix)
    version = subject.catalogue.version
    for entry in subject.entries:
        since = entry.option.since if entry.option else None
        if since and _numbers(since) > _numbers(version) and not subject.catalogue.is_of_build:
            message = f"{entry.key} came with uWSGI {since}: {version} ignores it"
            yield Hit(line=entry.number, message=message)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _lazy(subject: Subject) -> Iterator[Hit]:
    for entry in subject.named("lazy"):
        new = _renamed(entry, "lazy-apps")
        fix = written_as(entry, new, "write lazy-apps", is_safe=False)
        message = (
            "lazy changes how reloads and signals work; lazy-apps loads the app per worker too"
        )
        yield Hit(line=entry.number, message=message, fix=fix)


RULES = (
    Rule(
        id="U018",
        name="key-spelling",
        severity=Severity.ERROR,
        why="Options are compared letter by letter: with an underscore, a capital or the dashes "
        "of the command line it is another name, and uWSGI ignores it in silence.",
        example=file_of("processes = 2", "thunder_lock = true"),
        better=file_of("processes = 2", "thunder-lock = true"),
        evidence="core/config.c uwsgi_opt_get uses strcmp; `--show-config` of 2.0.31 lists the "
        "line, and the lock is not on.",
        look=_each(Why.SPELLING, _spelling),
    ),
    Rule(
        id="U019",
        name="misspelt-key",
        severity=Severity.ERROR,
        why="uWSGI ignores what it does not know, unless strict is set: with `process = 2` it "
        "runs one worker, and nobody is told.",
        example=file_of("processes = 2", "vaccum = true"),
        better=file_of("processes = 2", "vacuum = true"),
        evidence="core/config.c uwsgi_manage_opt; files of public projects hold `process`, "
        "`vaccum` and `py-callos-afterfork`.",
        look=_misspelt,
    ),
    Rule(
        id="U020",
        name="unknown-key",
        severity=Severity.ERROR,
        why="The line does nothing: it is neither an option nor a placeholder that some "
        "%(name) uses.",
        example=file_of("processes = 2", "graceful-restarts = true"),
        better=file_of("processes = 2", "root = /app", "chdir = %(root)"),
        evidence="core/config.c uwsgi_manage_opt; with --strict 2.0.31 ends at such a line with "
        "`unknown config directive`.",
        look=_unknown,
    ),
    Rule(
        id="U021",
        name="not-in-this-build",
        severity=Severity.ERROR,
        why="What uWSGI can do is decided when it is built, by the libraries that are there. "
        "Routes, https and regular expressions are missing from many images, in silence.",
        example=file_of("processes = 2", "static-expires = /.* 3600"),
        better=file_of("processes = 2", "static-expires-type = text/css=3600"),
        evidence="`uwsgi --dump-options` of 2.0.31 built without PCRE has 869 options and no "
        "route; it starts with the example and ignores the line.",
        look=_other_build,
    ),
    Rule(
        id="U022",
        name="not-in-this-release",
        severity=Severity.ERROR,
        why="The option belongs to another release, and this one ignores it in silence.",
        example=file_of("processes = 2", "thunder-lock-watchdog = true"),
        better=file_of("processes = 2", "thunder-lock = true"),
        evidence="`uwsgi --dump-options` of 2.0.31 does not have it.",
        look=_other_release,
    ),
    Rule(
        id="U023",
        name="colon-for-equals",
        severity=Severity.ERROR,
        why="Other ini dialects take `name: value`. For uWSGI the whole line is then the name of "
        "an option that does not exist.",
        example=file_of("processes = 2", "threads: 2"),
        better=file_of("processes = 2", "threads = 2"),
        evidence="core/ini.c ini_get_key splits at `=`; `--show-config` of 2.0.31 has a key "
        "`processes: 3` without a value.",
        look=_each(Why.COLON, _without_equals),
    ),
    Rule(
        id="U024",
        name="no-equals-sign",
        severity=Severity.ERROR,
        why="A name and a value need `=` between them, else the whole line is the name of an "
        "option that does not exist.",
        example=file_of("processes = 2", "threads 2"),
        better=file_of("processes = 2", "threads = 2"),
        evidence="core/ini.c ini_get_key; `--show-config` of 2.0.31 has a key `processes 3`.",
        look=_each(Why.NO_EQUALS, _without_equals),
    ),
    Rule(
        id="U025",
        name="lazy-for-lazy-apps",
        severity=Severity.WARNING,
        why="Both load the app in each worker. But lazy also makes a reload replace workers "
        "without reading the configuration again, and changes what signals do.",
        example=file_of("processes = 2", "lazy = true"),
        better=file_of("processes = 2", "lazy-apps = true"),
        evidence="core/signal.c and core/uwsgi.c ask for uwsgi.lazy where they reload.",
        look=_lazy,
    ),
)
