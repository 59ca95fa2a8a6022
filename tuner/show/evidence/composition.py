"""A page in its order: the answer, what it means, its reliability, the evidence."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from tuner.nouns import wording
from tuner.nouns.masking import masked
from tuner.nouns.model import LeftOut, Preflight, PreflightFinding, Recommendation, Verdict
from tuner.show.evidence import compared_arms, file_changes, reliability, search
from tuner.show.evidence.document import (
    Code,
    Document,
    Figure,
    Folded,
    Gallery,
    Headline,
    Mood,
    Paragraph,
    Part,
    Picture,
    Section,
    Strong,
    Table,
    Word,
    Words,
)
from tuner.show.evidence.job_evidence import JobEvidence

# ---- The top of a page: the answer in one sentence, and the figures that matter most


def headline(evidence: JobEvidence) -> Headline:
    """Deploy or keep, the gain, and how sure it is."""
    job, comparison = evidence.job, evidence.comparison
    is_tested = evidence.recommendation.candidate is not None
    again = evidence.recommendation.measure_again
    reason = "" if comparison.verdict is Verdict.BREAKS_BOUND else comparison.reason
    return Headline(
        app=job.spec.app,
        job=job.id,
        verdict=wording.VERDICTS[comparison.verdict] if is_tested else "nothing to compare",
        mood=Mood.GOOD if comparison.verdict is Verdict.BETTER and not again else Mood.CALM,
        answer=_answer(evidence),
        reason=" ".join(map(wording.sentence, filter(None, (again, reason)))),
        figures=tuple(_figures(evidence)),
    )


def _answer(evidence: JobEvidence) -> Words:
    """One sentence; with effect, interval, blocks and probability where they were measured."""
    app = Code(evidence.job.spec.app)
    if evidence.recommendation.candidate is None:
        return (Strong("Keep your file"), " for ", app, ": no candidate reached the confirmation.")
    missed = "; ".join(bound.sentence for bound in evidence.comparison.missed)
    advice, why = _advice(evidence.recommendation, missed)
    return (Strong(advice), " for ", app, f": {why}{_measured(evidence)}.")


def _advice(answer: Recommendation, missed: str) -> tuple[str, str]:
    match answer.verdict:
        case Verdict.BETTER:
            return answer.advice.replace(" it", " the new file", 1), ""
        case Verdict.WORSE:
            return "Keep your file", "the candidate is worse, "
        case Verdict.BREAKS_BOUND:
            joined = ". It measured " if answer.comparison.effect else "; "
            return "Keep your file", f"the candidate breaks a bound: {missed}{joined}"
        case Verdict.NO_DIFFERENCE:
            return "Keep your file", "no difference is worth a deployment, "
        case Verdict.INCONCLUSIVE:
            return "Keep your file for now", "the measurement is inconclusive, "
        case Verdict.DEPENDS:
            return "Look at your production first", "the sign of the gain depends on it, "
        case Verdict.MORE_FRAGILE:
            return "Keep your file", "the candidate is faster but more fragile, "
        case _:
            assert_never(answer.verdict)


def _measured(evidence: JobEvidence) -> str:
    comparison = evidence.comparison
    blocks = wording.count(comparison.blocks, "fresh block")
    if comparison.effect is None:
        return f"no effect could be measured in {blocks}"
    known = f"{wording.effect_with_interval(comparison.effect)}, from {blocks}"
    if comparison.p_better is None:
        return known
    return f"{known}, P(better) {wording.probability(comparison.p_better)}"


def _figures(evidence: JobEvidence) -> Iterable[Figure]:
    comparison = evidence.comparison
    blocks = wording.count(comparison.blocks, "fresh block")
    if (effect := comparison.effect) is not None:
        change, ends = wording.percent(effect.estimate), wording.confidence(effect)
        yield Figure(wording.METRICS[effect.metric], change, ends)
    if comparison.p_better is not None:
        yield Figure("P(better)", wording.probability(comparison.p_better), blocks)
    if comparison.mde is not None:
        smallest = wording.share(comparison.mde)
        yield Figure("smallest detectable effect", smallest, "with power 80 %")
    total = comparison.requests + comparison.errors
    if total:
        sent = f"of {wording.count(total, 'request')}"
        yield Figure("errors", wording.thousands(comparison.errors), sent)


# ---- What was odd about the user's file before the first trial, and what trials leave out

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


# ---- All sections in their order: the answer, what it means, its reliability, the evidence

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
    preflight,
    search.trials,
    search.slices,
    search.race,
    search.ablation,
    search.confirmation,
    compared_arms.by_request,
    search.importances,
    search.front,
    search.gaps,
    reliability.provenance,
)


def compose(evidence: JobEvidence) -> Document:
    """The document of a job, not yet written in any form; sections without content are left out."""
    sections = (section_of(evidence) for section_of in _SECTIONS)
    document = Document(
        headline=headline(evidence),
        sections=tuple(section for section in sections if section is not None),
    )
    return masked(document, leave=(Picture, Gallery))


# ---- A tuning job without its answer: the evidence that there is so far

_SECTIONS_SO_FAR = (
    search.tried,
    search.race,
    search.ablation,
    search.confirmation,
    reliability.reliability,
    reliability.diagnosis,
    preflight,
)


def compose_so_far(evidence: JobEvidence) -> tuple[Section, ...]:
    """The sections that have content. Their recommendation is what the study has shown so far."""
    sections = (section_of(evidence) for section_of in _SECTIONS_SO_FAR)
    found = tuple(replace(section, is_evidence=False) for section in sections if section)
    return masked(found, leave=(Picture, Gallery))
