"""All sections in their order: the answer, what it means, how far to trust it, the evidence."""

from tuner.evidence import answer, changes, contest, preflight, provenance, search, trust
from tuner.evidence.gathering import JobEvidence
from tuner.evidence.parts import Document

_EVIDENCE = (
    search.trials,
    search.slices,
    contest.race,
    contest.ablation,
    contest.confirmation,
    search.importances,
    search.front,
    search.gaps,
)


def compose(evidence: JobEvidence) -> Document:
    """The whole report, not yet written in any form; what there is nothing of is left out."""
    shown = (section_of(evidence) for section_of in _EVIDENCE)
    before = preflight.section(evidence)
    return Document(
        headline=answer.headline(evidence),
        sections=(
            *changes.sections(evidence),
            *trust.sections(evidence),
            changes.file_section(evidence),
            *([before] if before is not None else []),
            *(section for section in shown if section is not None),
            provenance.section(evidence),
        ),
    )
