"""Apply the edits of findings to a text."""

import re
from collections.abc import Iterable, Sequence

from tuner.uwsgi.lint.finding import Edit, Finding, Fix

_LINES = re.compile(r"[^\n]*\n|[^\n]+\Z")


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
    lines: list[str] = _LINES.findall(text)
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
