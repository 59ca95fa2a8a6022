"""Values that are not what they look like: quotes, words, comments, empty values."""

from collections.abc import Iterator, Sequence

from tuner.uwsgi.ini import is_true
from tuner.uwsgi.lint.edits import comment_at, comment_moved_up, quoted, set_to
from tuner.uwsgi.lint.finding import Edit, Fix, Severity
from tuner.uwsgi.lint.references import referenced
from tuner.uwsgi.lint.rule import Hit, check, hit
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
_HOLDS_ANYTHING = (
    "add-header", "alarm", "attach", "cron", "env", "error-route", "exec", "final-route", "hook",
    "log-format", "response-route", "route", "smart-attach", "unique-cron",
)  # fmt: skip
"""Shell commands, headers and formats: `;` and `#` have their own meaning there."""


@check("comment-changes-value")
def comment_changes_value(subject: Subject) -> Iterator[Hit]:
    used = referenced(subject)
    for entry in subject.entries:
        at = _comment(entry)
        if at is None or (entry.option is None and entry.key not in used):
            continue
        message, severity = f"{entry.key} is {quoted(entry.value)}, comment included", None
        if entry.option and entry.option.kind is Kind.FLAG:
            message = _on_by_word(entry)
            severity = Severity.NOTE if is_true(entry.value[:at].rstrip()) else None
        yield Hit(entry.number, message, comment_moved_up(entry, at), severity)


def _on_by_word(entry: Entry) -> str:
    return f"{entry.key} is on: {quoted(entry.value)} is not false, off, no or 0"


def _comment(entry: Entry) -> int | None:
    """Where the comment begins, in a value that no comment can be part of."""
    kind = entry.option.kind if entry.option else Kind.TEXT
    if kind is Kind.INTEGER or entry.name.startswith(_HOLDS_ANYTHING):
        return None
    at = comment_at(entry.value, spaced=kind is not Kind.FLAG)
    if at is None or at == 0 or kind is Kind.FLAG:
        return at or None
    # A text with spaces can contain a semicolon; a path or a name does not.
    return at if len(entry.value[:at].split()) == 1 else None


@check("odd-boolean")
def odd_flags(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        word = entry.value.lower()
        is_flag = entry.option is not None and entry.option.kind is Kind.FLAG
        if not is_flag or entry.is_dynamic or word in _TRUE or word in _FALSE:
            continue
        if comment_at(entry.value, spaced=False) is not None or _is_quoted(entry.value):
            continue  # other rules report these
        means_no = word in _MEANS_NO
        meant = "false" if means_no else "true"
        fix = set_to(entry, meant, f"write {meant}", is_safe=not means_no)
        severity = Severity.ERROR if means_no else Severity.NOTE
        yield Hit(entry.number, _on_by_word(entry), fix, severity)


def _is_quoted(value: str) -> bool:
    """Whether one pair of quotes encloses the value."""
    ends = len(value) >= 2 and value[0] in _QUOTES and value[0] == value[-1]
    return ends and value[0] not in value[1:-1]


@check("quoted-value")
def quotes(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if _is_quoted(entry.value) and not entry.name.startswith(_MAY_HOLD_QUOTES):
            fix = set_to(entry, entry.value[1:-1], "remove the quotes", is_safe=True)
            yield hit(entry, fix)


@check("backslash-continuation")
def continued(subject: Subject) -> Iterator[Hit]:
    """One hit for each run of continued lines."""
    entries = {entry.number: entry for entry in subject.entries}
    goes_on = {number for number, entry in entries.items() if entry.is_continued}
    for number in sorted(goes_on):
        if number - 1 in goes_on:
            continue
        last = number
        while last in goes_on:
            last += 1
        key = entries[number].key
        message = f"the backslash is part of {key}; the next line is a separate option"
        meant = [entries[at] for at in range(number, last + 1) if at in entries]
        yield Hit(number, message, _joined(meant, last))


def _joined(meant: Sequence[Entry], last: int) -> Fix:
    sentence = "write the value on one line"
    if meant[-1].number != last:
        return Fix(sentence)  # the next line is a comment, a header, or the end
    head = meant[0].line.text.rstrip().removesuffix(_BACKSLASH).rstrip()
    rest = (entry.line.text.strip().removesuffix(_BACKSLASH).rstrip() for entry in meant[1:])
    return Fix(sentence, (Edit(meant[0].number, last, (" ".join([head, *rest]),)),))


@check("empty-value")
def empty(subject: Subject) -> Iterator[Hit]:
    for entry in subject.entries:
        if entry.value == "" and entry.name in _NEEDS_VALUE:
            yield hit(entry)
