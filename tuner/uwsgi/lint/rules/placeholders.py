"""What uWSGI puts in the place of `%(...)` and `%x`, and what becomes of the rest."""

import re
from collections.abc import Iterator

from tuner.uwsgi.ini import CLOSES, IMMEDIATE, INCLUDES, OPENS
from tuner.uwsgi.lint.finding import Edit, Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, quoted, set_to
from tuner.uwsgi.lint.subject import Entry, Subject

_REFERENCE = re.compile(r"%\(([^()]*)\)")
_CONDITIONS = frozenset({"if-opt", "if-not-opt"})
_PLACEHOLDERS = frozenset({"set-placeholder", "set-ph"})
_SETS = _PLACEHOLDERS | {"set"}
_VARIABLES = ("%(", "$(", "@(")
_NOTHING_PUT_IN = IMMEDIATE - OPENS - CLOSES - INCLUDES - _SETS
_MAGIC = re.compile(r"%.", re.DOTALL)
_PARTS = re.compile(r"%.|[^%]+|%", re.DOTALL)
_KNOWN_MAGIC = frozenset("(%[obpjisdcenvhtTVkuUgGx0123456789")
_OF_DATES = frozenset({"log-date"})
_OF_REQUESTS = ("log-format", "log-req-encoder", "req-log-encoder", "route", "log-encoder")
"""Options in which `%(...)` may also stand for something of the request."""


def referenced(subject: Subject) -> frozenset[str]:
    """Every name that some `%(...)` or condition of the file asks for, wherever it stands."""
    found: set[str] = set()
    for line in subject.ini.lines:
        if line.key is None:
            continue
        if line.key in _CONDITIONS:
            found.add(line.value.partition("=")[0])
        if "%(" in line.value:
            for inner in _REFERENCE.findall(line.value):
                found.update((inner, *inner.split(" ")))
    return frozenset(found)


def assigned(subject: Subject) -> frozenset[str]:
    """Every name that the file gives a value to, directly or by `set`."""
    found = {entry.key for entry in subject.entries}
    for entry in subject.entries:
        if entry.key in _SETS or entry.key == "resolve":
            found.add(entry.value.partition("=")[0])
    return frozenset(found)


def includes_others(subject: Subject) -> bool:
    """Whether another file is read too, which may use what this one sets, and set what it uses."""
    steps = subject.ini.read.steps
    return any(step.is_foreign or step.line.key == "inherit" for step in steps)


def _unresolved(subject: Subject) -> Iterator[Hit]:
    known = assigned(subject)
    if includes_others(subject):
        return
    for entry in subject.entries:
        if entry.name.startswith(_OF_REQUESTS) or "%(" not in entry.value:
            continue
        for inner in _REFERENCE.findall(entry.value):
            missing = [name for name in _names_in(inner) if name not in known]
            if missing:
                message = f"nothing sets {quoted(missing[0])}: {_becomes(inner)}"
                fix = Fix(sentence=f"set {missing[0]} in this file, or write the value itself")
                yield Hit(line=entry.number, message=message, fix=fix)
                break


def _names_in(inner: str) -> list[str]:
    """The options of an expression such as `threads * 4`; `_` is what a block goes through."""
    words = [inner] if " " not in inner else inner.split()
    return [word for word in words if word != "_" and not re.fullmatch(r"[-+*/]+|\d+", word)]


def _becomes(inner: str) -> str:
    if " " in inner:
        return f"%({inner}) counts it as 0"
    return f"%({inner}) stays as it is"


def _wrong_sets(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if entry.key not in _SETS:
            continue
        name, equals, _ = entry.value.partition("=")
        if not equals:
            message = f"{entry.key} wants name=value: uWSGI does not start"
            yield Hit(line=entry.number, message=message, fix=Fix(sentence="write name=value"))
        elif entry.key in _PLACEHOLDERS and subject.catalogue.find(name) is not None:
            message = f"{quoted(name)} is an option, so no placeholder: uWSGI does not start"
            fix = Fix(sentence="give the placeholder another name")
            yield Hit(line=entry.number, message=message, fix=fix)


def _vanishing(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if "%" not in entry.value:
            continue
        lost = [pair for pair in _pairs(entry.value) if _is_lost(entry, pair)]
        if not lost:
            continue
        gone = [pair for pair in lost if pair[1] not in _KNOWN_MAGIC]
        message = (
            f"uWSGI drops {quoted(gone[0])} from the value"
            if gone
            else f"{quoted(lost[0])} is no part of a date here: uWSGI puts a value of its own there"
        )
        doubled = "".join(
            f"%{part}" if part in lost else part for part in _PARTS.findall(entry.value)
        )
        fix = set_to(entry, doubled, "double the percent sign", is_safe=True)
        yield Hit(line=entry.number, message=message, fix=fix)


def _pairs(value: str) -> list[str]:
    return _MAGIC.findall(value)


def _is_lost(entry: Entry, pair: str) -> bool:
    is_date = entry.name in _OF_DATES and pair[1] not in "%("
    return pair[1] not in _KNOWN_MAGIC or is_date


def _eats_line(subject: Subject) -> Iterator[Hit]:
    for problem in subject.problems:
        if problem.code == "joined-lines" and problem.line:
            text = subject.ini.lines[problem.line - 1].raw.removesuffix("\n")
            edit = Edit(first=problem.line, last=problem.line, lines=(f"{text}%",))
            fix = Fix(sentence="double the percent sign", edits=(edit,), is_safe=True)
            yield Hit(line=problem.line, message=problem.message, fix=fix)


def _too_early(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if entry.key in _NOTHING_PUT_IN and any(sign in entry.value for sign in _VARIABLES):
            message = f"uWSGI carries {entry.key} out before it puts variables in"
            fix = Fix(sentence="write the value itself")
            yield Hit(line=entry.number, message=message, fix=fix)


def _endless(subject: Subject) -> Iterator[Hit]:
    for problem in subject.problems:
        if problem.code == "endless-reference":
            fix = Fix(sentence="give one of them a value of its own")
            yield Hit(line=problem.line, message=problem.message, fix=fix)


RULES = (
    Rule(
        id="U039",
        name="unresolved-placeholder",
        severity=Severity.WARNING,
        why="A %(name) that nothing sets stays in the value as it is, and in arithmetic it counts "
        "as 0; uWSGI says nothing of it.",
        example=file_of("processes = 2", "chdir = %(root)/app"),
        better=file_of("processes = 2", "root = /srv", "chdir = %(root)/app"),
        evidence="`--show-config` of 2.0.31: `%(nope)x` stays, `%(nope 1 + 2)` is 3.",
        look=_unresolved,
    ),
    Rule(
        id="U040",
        name="wrong-placeholder",
        severity=Severity.ERROR,
        why="`set` and `set-placeholder` want name=value, and a placeholder may not have the name "
        "of an option: with either mistake uWSGI does not start.",
        example=file_of("processes = 2", "set-placeholder = threads=2"),
        better=file_of(
            "processes = 2", "set-placeholder = per-worker=2", "threads = %(per-worker)"
        ),
        evidence="2.0.31 ends with exit code 1: `you cannot use processes as a placeholder`, and "
        "`invalid placeholder/--set value`.",
        look=_wrong_sets,
    ),
    Rule(
        id="U041",
        name="percent-sign-lost",
        severity=Severity.ERROR,
        why="When it reads the file uWSGI replaces every percent sign with the character after "
        "it, in dates and URLs too; what it has no meaning for disappears.",
        example=file_of("processes = 2", "log-date = %Y-%m-%d"),
        better=file_of("processes = 2", "log-date = %%Y-%%m-%%d"),
        evidence="core/utils.c magic_sub; 2.0.31 in /tmp writes `--/tmp/` before each log line "
        "with the example.",
        look=_vanishing,
    ),
    Rule(
        id="U042",
        name="percent-swallows-line",
        severity=Severity.ERROR,
        why="A percent sign takes the character after it along, and at the end of a line that is "
        "the newline: the next line becomes part of this one, be it a comment or a value.",
        example=file_of("processes = 2", "; at most 80%", "threads = 2"),
        better=file_of("processes = 2", "; at most 80 percent", "threads = 2"),
        evidence="core/utils.c magic_sub; `--show-config` of 2.0.31 has no processes after the "
        "comment `; half of it: 50%`, and shows `foo = 50processes = 4` for a value.",
        look=_eats_line,
    ),
    Rule(
        id="U043",
        name="variable-too-early",
        severity=Severity.ERROR,
        why="Some options are carried out as soon as their line is read, and variables are put "
        "in later: what they get is the text with its signs, which as a number is 0.",
        example=file_of("processes = 2", "backlog = 256", "listen = %(backlog)"),
        better=file_of("processes = 2", "listen = 100"),
        evidence="core/uwsgi.c marks them UWSGI_OPT_IMMEDIATE, core/config.c runs those at once; "
        "2.0.31 with the example listens with a queue of 0.",
        look=_too_early,
    ),
    Rule(
        id="U045",
        name="endless-reference",
        severity=Severity.ERROR,
        why="A value that is put into itself grows without end: uWSGI hangs at its start.",
        example=file_of("processes = 2", "root = /srv%(root)", "chdir = %(root)"),
        better=file_of("processes = 2", "root = /srv/app", "chdir = %(root)"),
        evidence="2.0.31 with `a = x%(a)` had not started after 5 s, and had asked for 16 exabytes "
        "of memory.",
        look=_endless,
    ),
)
