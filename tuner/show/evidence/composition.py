"""All sections in their order: the answer, what it means, its reliability, the evidence."""

from tuner.nouns.masking import masked
from tuner.show.evidence import (
    by_request,
    file_changes,
    preflight,
    provenance,
    race_and_confirmation,
    reliability,
    search,
)
from tuner.show.evidence.document import Document, Gallery, Picture
from tuner.show.evidence.headline import headline
from tuner.show.evidence.job_evidence import JobEvidence

_SECTIONS = (
    file_changes.since,
    file_changes.changed,
    file_changes.put_back,
    file_changes.side_effects,
    reliability.conditions,
    reliability.scenes,
    reliability.reliability,
    reliability.diagnosis,
    file_changes.file,
    preflight.preflight,
    search.trials,
    search.slices,
    race_and_confirmation.race,
    race_and_confirmation.ablation,
    race_and_confirmation.confirmation,
    by_request.by_request,
    search.importances,
    search.front,
    search.gaps,
    provenance.provenance,
)


def compose(evidence: JobEvidence) -> Document:
    """The document of a job, not yet written in any form; sections without content are left out."""
    sections = (section_of(evidence) for section_of in _SECTIONS)
    document = Document(
        headline=headline(evidence),
        sections=tuple(section for section in sections if section is not None),
    )
    return masked(document, leave=(Picture, Gallery))
