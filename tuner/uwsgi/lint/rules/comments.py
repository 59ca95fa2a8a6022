"""Comments at the end of a line: they are part of the value."""

from collections.abc import Iterator

from tuner.uwsgi.ini import is_true
from tuner.uwsgi.lint.finding import Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import comment_at, comment_moved_up, file_of, quoted
from tuner.uwsgi.lint.rules.placeholders import referenced
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options.option import Kind

_HOLDS_ANYTHING = (
    "add-header", "alarm", "attach", "cron", "env", "error-route", "exec", "final-route", "hook",
    "log-format", "response-route", "route", "smart-attach", "unique-cron",
)  # fmt: skip
"""Shell commands, headers and formats, in which `;` and `#` have meanings of their own."""


def _changed(subject: Subject) -> Iterator[Hit]:
    used = referenced(subject)
    for entry in subject.entries:
        at = _comment(entry)
        if at is None or (entry.option is None and entry.key not in used):
            continue
        message, severity = f"{entry.key} is {quoted(entry.value)}, comment included", None
        if entry.option and entry.option.kind is Kind.FLAG:
            message = f"{entry.key} is on: {quoted(entry.value)} is none of false, off, no and 0"
            severity = Severity.NOTE if is_true(entry.value[:at].rstrip()) else None
        fix = comment_moved_up(entry, at)
        yield Hit(line=entry.number, message=message, fix=fix, severity=severity)


def _comment(entry: Entry) -> int | None:
    """Where the comment begins, in a value that no comment can be part of."""
    kind = entry.option.kind if entry.option else Kind.TEXT
    if kind is Kind.INTEGER or entry.name.startswith(_HOLDS_ANYTHING):
        return None
    at = comment_at(entry.value, spaced=kind is not Kind.FLAG)
    if at is None or at == 0 or kind is Kind.FLAG:
        return at or None
    # A text with spaces of its own may well hold a semicolon; a path or a name does not.
    return at if len(entry.value[:at].split()) == 1 else None


RULES = (
    Rule(
        id="U027",
        name="comment-changes-value",
        severity=Severity.ERROR,
        why="A comment has a line of its own; behind a value it is part of it. "
        "`lazy-apps = false ; later` switches lazy-apps on, and a name with a comment behind it "
        "is another name.",
        example=file_of("processes = 2", "disable-logging = false  # keep the access log"),
        better=file_of("processes = 2", "; keep the access log", "disable-logging = false"),
        evidence="core/ini.c knows comments at the start of a line only, and core/uwsgi.c "
        "uwsgi_opt_true compares the whole value; 2.0.31 falls back to another cheaper-algo for "
        "`busyness ; c`.",
        look=_changed,
    ),
)
