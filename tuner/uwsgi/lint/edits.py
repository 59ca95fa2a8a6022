"""Fixes as edits of lines, and pieces of a file as text in messages."""

import re

from tuner.uwsgi.ini import SECTION
from tuner.uwsgi.ini.values import as_comment, inline_comment
from tuner.uwsgi.lint.finding import Edit, Fix
from tuner.uwsgi.lint.subject import Entry, Subject

_BLANKS = " \t\r"
_COMMENT = re.compile(r"[;#]")
_SPACED_COMMENT = re.compile(r"[ \t][;#]")


def quoted(text: str) -> str:
    """A piece of the file for a message, shortened when it is long."""
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"


def comment_at(value: str, *, spaced: bool = True) -> int | None:
    """Where the author wants a comment to begin; `spaced` requires white space before it."""
    found = (_SPACED_COMMENT if spaced else _COMMENT).search(value)
    return found.end() - 1 if found else None


def added(subject: Subject, *lines: str) -> Fix:
    """New lines outside every block, for options that are missing."""
    end = subject.ini.read.end
    at = (top_of(subject) or len(subject.ini.lines)) + 1 if end is None else end + 2
    named = " and ".join(f"`{line}`" for line in lines)
    return Fix(f"add {named}", (Edit(at, at - 1, lines),))


def removed(entry: Entry, sentence: str = "remove the line", *, is_safe: bool = False) -> Fix:
    """Without this line."""
    return Fix(sentence, (Edit(entry.number, entry.number),), is_safe)


def set_to(entry: Entry, value: str, sentence: str, *, is_safe: bool = False) -> Fix:
    """The same line with another value; its comment, if it has one, on a line of its own above."""
    comment = None if inline_comment(value) else inline_comment(entry.value)
    above = (f"{_indent_of(entry)}{as_comment(comment)}",) if comment else ()
    return _of_line(entry, (*above, text_of(entry, value)), sentence, is_safe)


def written_as(entry: Entry, text: str, sentence: str, *, is_safe: bool = False) -> Fix:
    """Another line in place of this one, with the same indent."""
    return _of_line(entry, (f"{_indent_of(entry)}{text}",), sentence, is_safe)


def comment_moved_up(entry: Entry, at: int) -> Fix:
    """The comment on a line of its own, above the value."""
    comment, value = entry.value[at:].strip(), entry.value[:at].rstrip(" \t")
    lines = (f"{_indent_of(entry)}{comment}", text_of(entry, value))
    return _of_line(entry, lines, "put the comment on a line of its own", is_safe=True)


def text_of(entry: Entry, value: str) -> str:
    """The line with another value, without its ending."""
    head, equals, rest = entry.line.text.partition("=")
    if not equals:
        return f"{head.rstrip(_BLANKS)} = {value}"
    return f"{head}={rest[: len(rest) - len(rest.lstrip(_BLANKS))]}{value}"


def top_of(subject: Subject) -> int | None:
    """The number of the section's header, for findings about missing lines."""
    lines = enumerate(subject.ini.lines, start=1)
    return next((number for number, line in lines if line.section == SECTION), None)


def _indent_of(entry: Entry) -> str:
    raw = entry.line.raw
    return raw[: len(raw) - len(raw.lstrip(" \t"))]


def _of_line(entry: Entry, lines: tuple[str, ...], sentence: str, is_safe: bool) -> Fix:
    if entry.value not in entry.line.raw:
        return Fix(sentence)  # a percent sign has joined the next line to the value
    return Fix(sentence, (Edit(entry.number, entry.number, lines),), is_safe)
