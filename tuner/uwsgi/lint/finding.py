"""What is wrong with a file, and how to repair it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from tuner.uwsgi.ini.lines import BLANKS, as_comment, inline_comment, lines_of
from tuner.uwsgi.lint.subject import Entry, Subject


class Severity(StrEnum):
    """How bad it is; the worst member comes first."""

    ERROR = "error"  # uWSGI does not start, or does something other than the file says
    WARNING = "warning"  # it works, but not under load, not everywhere, or not for long
    NOTE = "note"  # it works; there is a better way

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Edit:
    """New text for some lines, without line endings.

    `lines` replace the lines `first` to `last` (from 1, both included); no `lines` remove them.
    With `last` one below `first`, `lines` are inserted before line `first`.
    """

    first: int
    last: int
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fix:
    """How to repair it, as a sentence and as edits.

    A safe fix keeps what uWSGI does today, or makes uWSGI do what the file plainly says. `--fix`
    applies only safe ones. A fix without edits is advice.
    """

    sentence: str
    edits: tuple[Edit, ...] = ()
    is_safe: bool = False

    @property
    def is_automatic(self) -> bool:
        """Whether it has edits."""
        return bool(self.edits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One problem; `rule` is the id of its rule, and `name` the name.

    `line` counts from 1; it is None when the problem is the whole file.
    """

    rule: str
    name: str
    severity: Severity
    line: int | None
    message: str
    fix: Fix | None = None


# ---- Fixes as edits of lines, and pieces of a file as text in messages

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
    above = (f"{entry.line.indent}{as_comment(comment)}",) if comment else ()
    return _of_line(entry, (*above, text_of(entry, value)), sentence, is_safe)


def written_as(entry: Entry, text: str, sentence: str, *, is_safe: bool = False) -> Fix:
    """Another line in place of this one, with the same indent."""
    return _of_line(entry, (f"{entry.line.indent}{text}",), sentence, is_safe)


def comment_moved_up(entry: Entry, at: int) -> Fix:
    """The comment on a line of its own, above the value."""
    comment, value = entry.value[at:].strip(), entry.value[:at].rstrip(" \t")
    lines = (f"{entry.line.indent}{comment}", text_of(entry, value))
    return _of_line(entry, lines, "put the comment on a line of its own", is_safe=True)


def text_of(entry: Entry, value: str) -> str:
    """The line with another value, without its ending."""
    head, equals, rest = entry.line.text.partition("=")
    if not equals:
        return f"{head.rstrip(BLANKS)} = {value}"
    return f"{head}={rest[: len(rest) - len(rest.lstrip(BLANKS))]}{value}"


def top_of(subject: Subject) -> int | None:
    """The number of the section's header, for findings about missing lines."""
    lines = enumerate(subject.ini.lines, start=1)
    return next((number for number, line in lines if line.section == subject.ini.section), None)


def _of_line(entry: Entry, lines: tuple[str, ...], sentence: str, is_safe: bool) -> Fix:
    if entry.value not in entry.line.raw:
        return Fix(sentence)  # a percent sign has joined the next line to the value
    return Fix(sentence, (Edit(entry.number, entry.number, lines),), is_safe)


# ---- Apply the edits of findings to a text


def applicable(findings: Iterable[Finding], *, unsafe: bool = False) -> tuple[Finding, ...]:
    """The findings with edits that may be applied: the safe ones, or all."""
    return tuple(
        finding
        for finding in findings
        if finding.fix and finding.fix.edits and (finding.fix.is_safe or unsafe)
    )


def fixed(text: str, findings: Iterable[Finding], *, unsafe: bool = False) -> str:
    """The text with the safe fixes, or with all of them.

    A fix is applied as a whole or not at all. When two fixes touch the same line, the first one
    wins; lint the result again to see the other. Line endings stay.
    """
    lines = lines_of(text)
    chosen = _chosen([f.fix for f in applicable(findings, unsafe=unsafe) if f.fix], len(lines))
    ending = "\r\n" if any(line.endswith("\r\n") for line in lines) else "\n"
    done, at = list[str](), 0
    # Top to bottom; an insertion before a line comes before its replacement.
    for edit in sorted(chosen, key=lambda e: (e.first, e.last)):
        done += lines[at : edit.first - 1]
        at = max(edit.last, edit.first - 1)
        if edit.lines and done and not _ending_of(done[-1]):
            done[-1] += ending
        done += _ended(
            edit.lines, _ending_of(lines[at - 1]) if at >= edit.first else ending, ending
        )
    return "".join([*done, *lines[at:]])


def edit_between(old: str, new: str) -> Edit:
    """The lines that differ, as one edit."""
    before, after = lines_of(old), lines_of(new)
    first = _same(before, after)
    last = _same(before[first:][::-1], after[first:][::-1])
    texts = (line.rstrip("\r\n") for line in after[first : len(after) - last])
    return Edit(first + 1, len(before) - last, tuple(texts))


def _same(some: Sequence[str], others: Sequence[str]) -> int:
    """How many lines are the same at the beginning."""
    pairs = zip(some, others, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _ended(texts: Sequence[str], last_ending: str, ending: str) -> list[str]:
    """Lines with their endings; the last one keeps its own."""
    return [f"{text}{ending}" for text in texts[:-1]] + [
        f"{text}{last_ending}" for text in texts[-1:]
    ]


def _chosen(fixes: Sequence[Fix], count: int) -> set[Edit]:
    taken: set[int] = set()
    chosen: set[Edit] = set()
    for fix in fixes:
        new = [edit for edit in fix.edits if edit not in chosen]
        touched = [number for edit in new for number in _touched(edit)]
        fits = all(1 <= edit.first <= count + 1 and edit.last <= count for edit in new)
        if fits and not taken.intersection(touched):
            taken.update(touched)
            chosen.update(new)
    return chosen


def _touched(edit: Edit) -> range:
    """The lines that an edit touches; an insertion touches the line below it."""
    return range(edit.first, max(edit.last, edit.first) + 1)


def _ending_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
