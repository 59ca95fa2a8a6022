"""Values that are not what they look like: quotes, words, and what is left out."""

from collections.abc import Iterator, Sequence

from tuner.uwsgi.lint.finding import Edit, Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import (
    comment_at,
    file_of,
    is_continued,
    is_dynamic,
    quoted,
    set_to,
)
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options.option import Kind

_BACKSLASH = "\\"
_QUOTES = "\"'"
_TRUE = frozenset({"", "true", "on", "yes", "1"})
_FALSE = frozenset({"false", "off", "no", "0"})
_MEANS_NO = frozenset(
    {"disable", "disabled", "f", "n", "never", "nil", "none", "not", "null", "undefined", "00"}
)
_NEEDS_VALUE = frozenset(
    {
        "callable", "chdir", "daemonize", "env", "gid", "home", "http", "http-socket", "logto",
        "module", "mount", "pidfile", "plugins", "pythonpath", "socket", "static-map", "stats",
        "touch-reload", "uid", "wsgi-file",
    }
)  # fmt: skip
_MAY_HOLD_QUOTES = ("log-format", "route", "hook", "exec", "cron", "env")


def _plain(subject: Subject) -> Iterator[Entry]:
    """Lines that set a known option to something that the file itself says."""
    return (e for e in subject.entries if e.option and not is_dynamic(e.value))


def _odd_flags(subject: Subject) -> Iterator[Hit]:
    for entry in _plain(subject):
        word = entry.value.lower()
        is_flag = entry.option is not None and entry.option.kind is Kind.FLAG
        if not is_flag or word in _TRUE or word in _FALSE:
            continue
        if comment_at(entry.value, spaced=False) is not None or _is_quoted(entry.value):
            continue  # other rules say so
        means_no = word in _MEANS_NO
        message = f"{entry.key} is on: {quoted(entry.value)} is none of false, off, no and 0"
        meant = "false" if means_no else "true"
        fix = set_to(entry, meant, f"write {meant}", is_safe=not means_no)
        yield Hit(
            line=entry.number,
            message=message,
            fix=fix,
            severity=Severity.ERROR if means_no else Severity.NOTE,
        )


def _is_quoted(value: str) -> bool:
    """Whether one pair of quotes holds all of it."""
    ends = len(value) >= 2 and value[0] in _QUOTES and value[0] == value[-1]
    return ends and value[0] not in value[1:-1]


def _quotes(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if not _is_quoted(entry.value) or entry.name.startswith(_MAY_HOLD_QUOTES):
            continue
        inner = entry.value[1:-1]
        fix = set_to(entry, inner, "leave the quotes out", is_safe=True)
        message = f"the quotes are part of the value: {entry.key} is {quoted(entry.value)}"
        yield Hit(line=entry.number, message=message, fix=fix)


def _continued(subject: Subject) -> Iterator[Hit]:
    """One hit for each run of lines that were to be one."""
    entries = {entry.number: entry for entry in subject.entries}
    goes_on = {number for number, entry in entries.items() if is_continued(entry)}
    for number in sorted(goes_on):
        if number - 1 in goes_on:
            continue
        last = number
        while last in goes_on:
            last += 1
        entry = entries[number]
        message = f"the backslash is part of {entry.key}; the next line is an option of its own"
        meant = [entries[at] for at in range(number, last + 1) if at in entries]
        yield Hit(line=number, message=message, fix=_joined(meant, last))


def _joined(meant: Sequence[Entry], last: int) -> Fix:
    sentence = "write the value on one line"
    if meant[-1].number != last:
        return Fix(sentence=sentence)  # what was to go on is a comment, a header, or the end
    head = meant[0].line.text.rstrip().removesuffix(_BACKSLASH).rstrip()
    rest = (entry.line.text.strip().removesuffix(_BACKSLASH).rstrip() for entry in meant[1:])
    edit = Edit(first=meant[0].number, last=last, lines=(" ".join([head, *rest]),))
    return Fix(sentence=sentence, edits=(edit,))


def _empty(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if entry.value == "" and entry.name in _NEEDS_VALUE:
            message = f"{entry.key} is set to nothing"
            yield Hit(line=entry.number, message=message, fix=Fix(sentence="give it a value"))


RULES = (
    Rule(
        id="U033",
        name="odd-boolean",
        severity=Severity.ERROR,
        why="uWSGI knows four words for no: false, off, no and 0, in any case. Everything else "
        "switches the option on, `none` and `disabled` included.",
        example=file_of("processes = 2", "disable-logging = none"),
        better=file_of("processes = 2", "disable-logging = false"),
        evidence="core/uwsgi.c uwsgi_opt_true compares the whole value with strcasecmp; 2.0.31 "
        "started with `master = none` has a master, with `master = FALSE` it has none.",
        look=_odd_flags,
    ),
    Rule(
        id="U034",
        name="quoted-value",
        severity=Severity.ERROR,
        why="The ini dialect of uWSGI has no quotes: they become part of the path, the module or "
        'the word, so a path is not found, a number is 0, and "false" is true.',
        example=file_of("processes = 2", 'chdir = "/app"'),
        better=file_of("processes = 2", "chdir = /app"),
        evidence="core/ini.c strips white space and nothing else; 2.0.31 with the example ends "
        "with `chdir(): No such file or directory`.",
        look=_quotes,
    ),
    Rule(
        id="U035",
        name="backslash-continuation",
        severity=Severity.ERROR,
        why="A backslash does not continue a line: it stays in the value, and what was meant to "
        "follow is read as an option that does not exist, in silence.",
        example=file_of("processes = 2", "chdir = /srv/\\", "    app"),
        better=file_of("processes = 2", "chdir = /srv/app"),
        evidence="core/ini.c ini_get_line ends a line at the newline, whatever is before it.",
        look=_continued,
    ),
    Rule(
        id="U036",
        name="empty-value",
        severity=Severity.WARNING,
        why="The option is set, but to an empty text, which is rarely what a default would be: "
        "an empty folder, user or address makes uWSGI end at its start or listen nowhere.",
        example=file_of("processes = 2", "chdir ="),
        better=file_of("processes = 2", "chdir = /app"),
        evidence="2.0.31 with the example ends with `chdir(): No such file or directory`.",
        look=_empty,
    ),
)
