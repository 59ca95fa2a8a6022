"""Run rules over a file."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.lint.finding import Finding, Severity
from tuner.uwsgi.lint.rule import Rule
from tuner.uwsgi.lint.subject import Box, Subject
from tuner.uwsgi.options.catalogue import Catalogue

MAX_CHARS = 200_000
"""No uwsgi.ini is that long; of a longer text no more is looked at."""

MOST_OF_A_RULE = 100
"""Findings of one rule in one file; whoever has more will lint again."""

MOST_IN_A_MESSAGE = 500


def subject_of(text: str, catalogue: Catalogue, box: Box | None = None) -> Subject:
    """A file to be looked at. Any text is taken, and no time lost on one that is too long.

    Bytes that are not UTF-8 are expected as `surrogateescape` makes them.
    """
    return Subject(ini=IniFile.parse(text[: MAX_CHARS + 1]), catalogue=catalogue, box=box or Box())


def run(
    subject: Subject,
    rules: Sequence[Rule],
    unusable: Iterable[str],
    most: int | None = MOST_OF_A_RULE,
) -> tuple[Finding, ...]:
    """What these rules find, by line, the worst first; of each rule at most so many.

    Where one that is in `unusable` finds something, it is no file to say more of.
    """
    hopeless = frozenset(unusable)
    for stage in (
        [rule for rule in rules if rule.id in hopeless],
        [rule for rule in rules if rule.id not in hopeless],
    ):
        found = [
            printable(finding) for rule in stage for finding in islice(rule.findings(subject), most)
        ]
        if found:
            return tuple(sorted(found, key=_place))
    return ()


def worst(findings: Iterable[Finding]) -> Severity | None:
    """The worst severity among them."""
    return min((finding.severity for finding in findings), key=lambda s: s.rank, default=None)


def printable(finding: Finding) -> Finding:
    """Without what a terminal would obey or cannot show, for messages quote the file."""
    fix = finding.fix
    if fix is not None:
        fix = replace(fix, sentence=_printable(fix.sentence))
    return replace(finding, message=_printable(finding.message), fix=fix)


def _printable(text: str) -> str:
    short = text if len(text) <= MOST_IN_A_MESSAGE else f"{text[:MOST_IN_A_MESSAGE]}..."
    if short.isprintable():
        return short
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)


def _place(finding: Finding) -> tuple[int, int, str]:
    return (finding.line or 0, finding.severity.rank, finding.rule)
