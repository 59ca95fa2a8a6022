"""What was seen of the user's file before the first trial, and what trials went without."""

from collections.abc import Iterable

from tuner import wording
from tuner.evidence.gathering import JobEvidence
from tuner.evidence.parts import Cell, Code, Folded, Paragraph, Part, Section, Strong, Table, Words
from tuner.model import LeftOut, Preflight, PreflightFinding

_SHOWN = 12
"""Findings before the rest is folded away: a long list is for `tuner lint`."""


def section(evidence: JobEvidence) -> Section | None:
    """Both as one section; None where there is nothing to say."""
    found = evidence.job.facts.preflight if evidence.job.facts else None
    parts = tuple(_parts(found)) if found else ()
    return Section(title="Your file, before the first trial", parts=parts) if parts else None


def _parts(found: Preflight) -> Iterable[Part]:
    if found.left_out:
        yield Paragraph((Strong("Left out of all trials: "), *_left_out(found.left_out), "."))
        words = (
            "Your file and every candidate were measured without these lines; the file to deploy "
            "keeps them. A request may allow them."
        )
        yield Paragraph((words,), is_quiet=True)
    shown, rest = found.findings[:_SHOWN], found.findings[_SHOWN:]
    if shown:
        yield _table(shown)
    if rest:
        yield Folded(f"{wording.count(len(rest), 'more finding')}", (_table(rest),))


def _left_out(lines: Iterable[LeftOut]) -> Words:
    words: list[str | Code] = []
    for line in lines:
        words += [", "] if words else []
        words += [Code(line.option), f" (line {line.line}: {line.danger.sentence})"]
    return tuple(words)


def _table(findings: Iterable[PreflightFinding]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            ("" if finding.line is None else str(finding.line),),
            (finding.severity,),
            (finding.message,),
            (Code(finding.rule),),
        )
        for finding in findings
    ]
    return Table(("line", "", "what is odd", "rule"), tuple(rows))
