"""What uWSGI inserts for `%(...)` and `%x`, and what it drops."""

import re
from collections.abc import Iterator

from tuner.uwsgi.ini import CLOSES, IMMEDIATE, INCLUDES, OPENS
from tuner.uwsgi.lint.checks.patterns import problem, with_code
from tuner.uwsgi.lint.edits import quoted, set_to
from tuner.uwsgi.lint.finding import Edit, Fix
from tuner.uwsgi.lint.references import PLACEHOLDERS, REFERENCE, SETS, assigned, includes_others
from tuner.uwsgi.lint.rule import Hit, check, hit
from tuner.uwsgi.lint.subject import Entry, Subject

_VARIABLES = ("%(", "$(", "@(")
_APPLIED_AT_ONCE = IMMEDIATE - OPENS - CLOSES - INCLUDES - SETS
_MAGIC = re.compile(r"%.", re.DOTALL)
_PARTS = re.compile(r"%.|[^%]+|%", re.DOTALL)
_KNOWN_MAGIC = frozenset("(%[obpjisdcenvhtTVkuUgGx0123456789")
_OF_DATES = frozenset({"log-date"})
_OF_REQUESTS = ("log-format", "log-req-encoder", "req-log-encoder", "route", "log-encoder")
"""Options in which `%(...)` can also be a variable of the request."""

problem("endless-reference", "endless-reference")


@check("unresolved-placeholder")
def unresolved(subject: Subject) -> Iterator[Hit]:
    known = assigned(subject)
    if includes_others(subject):
        return
    for entry in subject.entries:
        if entry.name.startswith(_OF_REQUESTS) or "%(" not in entry.value:
            continue
        for inner in REFERENCE.findall(entry.value):
            missing = [name for name in _names_in(inner) if name not in known]
            if missing:
                outcome = "counts it as 0" if " " in inner else "stays as it is"
                yield hit(
                    entry,
                    name=missing[0],
                    quoted_name=quoted(missing[0]),
                    inner=inner,
                    outcome=outcome,
                )
                break


def _names_in(inner: str) -> list[str]:
    """The options of an expression such as `threads * 4`; `_` is the variable of a block."""
    words = [inner] if " " not in inner else inner.split()
    return [word for word in words if word != "_" and not re.fullmatch(r"[-+*/]+|\d+", word)]


@check("wrong-placeholder")
def wrong_sets(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if entry.key not in SETS:
            continue
        name, equals, _ = entry.value.partition("=")
        if not equals:
            message = f"{entry.key} needs name=value: uWSGI does not start"
            yield Hit(entry.number, message, Fix("write name=value"))
        elif entry.key in PLACEHOLDERS and subject.catalogue.find(name) is not None:
            message = f"{quoted(name)} is an option, not a placeholder: uWSGI does not start"
            yield Hit(entry.number, message, Fix("give the placeholder another name"))


@check("percent-sign-lost")
def vanishing(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        lost = [pair for pair in _MAGIC.findall(entry.value) if _is_lost(entry, pair)]
        if not lost:
            continue
        gone = [pair for pair in lost if pair[1] not in _KNOWN_MAGIC]
        message = (
            f"uWSGI drops {quoted(gone[0])} from the value"
            if gone
            else f"uWSGI replaces {quoted(lost[0])} by a value of its own: it is no date here"
        )
        parts = _PARTS.findall(entry.value)
        doubled = "".join(f"%{part}" if part in lost else part for part in parts)
        fix = set_to(entry, doubled, "double the percent sign", is_safe=True)
        yield Hit(entry.number, message, fix)


def _is_lost(entry: Entry, pair: str) -> bool:
    is_date = entry.name in _OF_DATES and pair[1] not in "%("
    return pair[1] not in _KNOWN_MAGIC or is_date


@check("percent-swallows-line")
def swallows_line(subject: Subject) -> Iterator[Hit]:
    for found in with_code(subject, "joined-lines"):
        line = found.line or 1
        text = subject.ini.lines[line - 1].raw.removesuffix("\n")
        fix = Fix("double the percent sign", (Edit(line, line, (f"{text}%",)),), is_safe=True)
        yield Hit(line, found.message, fix)


@check("variable-too-early")
def too_early(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if entry.key in _APPLIED_AT_ONCE and any(sign in entry.value for sign in _VARIABLES):
            yield hit(entry)
