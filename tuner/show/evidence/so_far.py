"""A tuning job without its answer: the evidence that there is so far."""

from dataclasses import replace

from tuner.nouns.masking import masked
from tuner.show.evidence import preflight, race_and_confirmation, reliability, search
from tuner.show.evidence.document import Gallery, Picture, Section
from tuner.show.evidence.job_evidence import JobEvidence

_SECTIONS = (
    search.tried,
    race_and_confirmation.race,
    race_and_confirmation.ablation,
    race_and_confirmation.confirmation,
    reliability.reliability,
    reliability.diagnosis,
    preflight.preflight,
)


def compose_so_far(evidence: JobEvidence) -> tuple[Section, ...]:
    """The sections that have content. Their recommendation is what the study has shown so far."""
    sections = (section_of(evidence) for section_of in _SECTIONS)
    found = tuple(replace(section, is_evidence=False) for section in sections if section)
    return masked(found, leave=(Picture, Gallery))
