"""All sections in their order: the answer, what it means, how far to trust it, the evidence."""

from tuner.evidence import answer, changes, contest, preflight, provenance, search, trust
from tuner.evidence.gathering import Dossier
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


def compose(dossier: Dossier) -> Document:
    """The whole report, not yet written in any form; what there is nothing of is left out."""
    evidence = (section_of(dossier) for section_of in _EVIDENCE)
    before = preflight.section(dossier)
    return Document(
        headline=answer.headline(dossier),
        sections=(
            *changes.sections(dossier),
            *trust.sections(dossier),
            changes.file_section(dossier),
            *([before] if before is not None else []),
            *(section for section in evidence if section is not None),
            provenance.section(dossier),
        ),
    )
