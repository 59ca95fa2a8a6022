"""What was odd about the user's file before the first trial, and what trials leave out."""

from collections.abc import Iterable, Sequence

from tuner.nouns import wording
from tuner.nouns.model import LeftOut, Preflight, PreflightFinding
from tuner.show.evidence.document import Code, Folded, Paragraph, Part, Section, Strong, Table, Word
from tuner.show.evidence.job_evidence import JobEvidence

_SHOWN = 12
"""Findings that are shown at once; the rest is folded away."""


def preflight(evidence: JobEvidence) -> Section | None:
    """Both in one section; None where there is nothing to say."""
    found = evidence.job.facts.preflight if evidence.job.facts else None
    parts = tuple(_parts(found)) if found else ()
    return Section(title="Your file, before the first trial", parts=parts) if parts else None


def _parts(found: Preflight) -> Iterable[Part]:
    if found.left_out:
        yield Paragraph((Strong("Left out of all trials: "), *_left_out(found.left_out), "."))
        words = (
            "Your file and every candidate were measured without these lines. The file to deploy "
            "keeps them. A request may allow them."
        )
        yield Paragraph(words, is_quiet=True)
    shown, rest = found.findings[:_SHOWN], found.findings[_SHOWN:]
    if shown:
        yield _table(shown)
    if rest:
        yield Folded(wording.count(len(rest), "more finding"), (_table(rest),))


def _left_out(lines: Sequence[LeftOut]) -> Iterable[Word]:
    for place, line in enumerate(lines):
        comma = "" if place == len(lines) - 1 else ", "
        yield Code(line.option)
        yield f" (line {line.line}: {line.danger.sentence}){comma}"


def _table(findings: Iterable[PreflightFinding]) -> Table:
    rows = tuple(
        (
            "" if finding.line is None else str(finding.line),
            finding.severity,
            finding.message,
            Code(finding.rule),
        )
        for finding in findings
    )
    return Table(("line", "", "what is odd", "rule"), rows)
