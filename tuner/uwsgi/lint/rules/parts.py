"""What the rules on syntax have in common: examples, edits, and what a value may hold."""

import re
from collections.abc import Sequence

from tuner.uwsgi.lint.finding import Edit, Fix
from tuner.uwsgi.lint.subject import Entry

_HEAD = (
    "[uwsgi]",
    "http-socket = :8000",
    "module = app",
    "master = true",
    "need-app = true",
    "die-on-term = true",
)
_BLANKS = " \t\r"
_DYNAMIC = re.compile(r"[%$@]\(|%[0-9A-Za-z]")
_COMMENT = re.compile(r"[;#]")
_SPACED_COMMENT = re.compile(r"[ \t][;#]")


def file_of(*lines: str) -> str:
    """A small file that is well in all other respects, with these lines at its end."""
    return "\n".join((*_HEAD, *lines, ""))


def is_dynamic(value: str) -> bool:
    """Whether uWSGI puts something else in its place, wholly or in part, before it is used."""
    return _DYNAMIC.search(value) is not None


def is_continued(entry: Entry) -> bool:
    """Whether somebody meant the line to go on in the next one, which it does not."""
    return entry.line.text.rstrip(_BLANKS).endswith("\\")


def comment_at(value: str, *, spaced: bool = True) -> int | None:
    """Where somebody meant a comment to begin; `spaced` asks for white space before it."""
    found = (_SPACED_COMMENT if spaced else _COMMENT).search(value)
    return found.end() - 1 if found else None


def quoted(text: str) -> str:
    """A piece of the file within a message, cut where it is long."""
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"


def set_to(entry: Entry, value: str, sentence: str, *, is_safe: bool) -> Fix:
    """The same line with another value."""
    return _of_line(entry, (text_of(entry, value),), sentence, is_safe)


def written_as(entry: Entry, text: str, sentence: str, *, is_safe: bool) -> Fix:
    """Another line in place of this one, as far in as it was."""
    return _of_line(entry, (f"{indent_of(entry)}{text}",), sentence, is_safe)


def comment_moved_up(entry: Entry, at: int) -> Fix:
    """The comment on a line of its own, above the value."""
    comment, value = entry.value[at:].strip(), entry.value[:at].rstrip(" \t")
    lines = (f"{indent_of(entry)}{comment}", text_of(entry, value))
    return _of_line(entry, lines, "put the comment on a line of its own", True)


def removed(numbers: Sequence[int], sentence: str, *, is_safe: bool) -> Fix:
    """Without these lines."""
    edits = tuple(Edit(first=number, last=number) for number in numbers)
    return Fix(sentence=sentence, edits=edits, is_safe=is_safe)


def text_of(entry: Entry, value: str) -> str:
    """The line with another text behind its `=`, its ending left out."""
    head, equals, rest = entry.line.text.partition("=")
    if not equals:
        return f"{head.rstrip(_BLANKS)} = {value}"
    return f"{head}={rest[: len(rest) - len(rest.lstrip(_BLANKS))]}{value}"


def indent_of(entry: Entry) -> str:
    """The white space that the line begins with."""
    raw = entry.line.raw
    return raw[: len(raw) - len(raw.lstrip(" \t"))]


def _of_line(entry: Entry, lines: tuple[str, ...], sentence: str, is_safe: bool) -> Fix:
    if entry.value not in entry.line.raw:
        return Fix(sentence=sentence)  # a percent sign has made the next line a part of it
    edit = Edit(first=entry.number, last=entry.number, lines=lines)
    return Fix(sentence=sentence, edits=(edit,), is_safe=is_safe)
