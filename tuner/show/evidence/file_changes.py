"""What the answer means for the file: changed lines, lines put back, side effects, the file."""

import difflib
from collections.abc import Iterable, Sequence

from tuner.nouns import wording
from tuner.nouns.masking import MASK, masked
from tuner.nouns.model import ChangedLine, Verdict, notes_of
from tuner.show.evidence.document import (
    Bullets,
    Code,
    Folded,
    Listing,
    Paragraph,
    Part,
    Section,
    Strong,
    Table,
    Words,
    whiskers,
)
from tuner.show.evidence.job_evidence import JobEvidence

_LONGEST_FILE = 12_000  # characters of a listing


def since(evidence: JobEvidence) -> Section | None:
    """What has changed since the answer that the job follows; None where it follows none."""
    last = evidence.recommendation.since
    if last is None:
        return None
    reasons = Bullets(tuple(wording.sentence(reason) for reason in last.because))
    holds = Paragraph(wording.sentence(last.sentence))
    parts: tuple[Part, ...] = (Paragraph("Both recommended files have the same effect."),)
    if last.changed:
        lines = Bullets(tuple(Code(line) for line in last.changed))
        parts = (Paragraph("The recommended files differ, from the old to the new one:"), lines)
    return Section(title=f"Since job {last.job}", parts=(holds, reasons, *parts))


def changed(evidence: JobEvidence) -> Section | None:
    """The changed lines, each with its own effect; None where nothing changes."""
    lines = evidence.recommendation.lines
    if not lines:
        return None
    parts: list[Part] = [_lines_table(lines, [_kept(evidence, line) for line in lines])]
    parts += [Paragraph((Strong("Note: "), note)) for note in notes_of(lines)]
    if any(line.effect is None for line in lines):
        words = (
            "A line that is not ablated was only measured together with the others. The effect of "
            "the whole file is confirmed; the share of this line is unknown."
        )
        parts.append(Paragraph(words, is_quiet=True))
    return Section(title="What changes", parts=tuple(parts))


def _kept(evidence: JobEvidence, line: ChangedLine) -> Words:
    if line.effect is None:
        return "not ablated"
    ablation = evidence.phases.ablation
    factors = ablation.factors if ablation else ()
    shared = next((f.parameters for f in factors if line.option in f.parameters), ())
    others = ", ".join(name for name in shared if name != line.option)
    metric, interval = wording.METRICS[line.effect.metric], wording.confidence(line.effect)
    together = f"; together with {others}" if others else ""
    return (Strong(wording.percent(line.effect.estimate)), f" {metric} ({interval}){together}")


def put_back(evidence: JobEvidence) -> Section | None:
    """The lines that the search chose and the answer leaves out; None where there are none."""
    lines = evidence.recommendation.reverted
    if not lines:
        return None
    title, words = "Tried, and not recommended", "Your file stays without these lines."
    if evidence.comparison.verdict is Verdict.BETTER:
        title = "Put back to your values"
        apart = "Each was measured apart from the others. " if all(x.effect for x in lines) else ""
        words = f"The search chose these lines too. {apart}They did not earn a place in your file."
    notes = [wording.why_not_kept(line.effect) if line.effect else "not ablated" for line in lines]
    return Section(title=title, parts=(Paragraph(words), _lines_table(lines, notes)))


def _lines_table(lines: Sequence[ChangedLine], notes: Sequence[Words]) -> Table:
    """The lines as a diff, with what is known of each; with pictures where effects are known."""
    rows = tuple(
        (
            Code(line.option),
            _or_not_set(line.baseline_value),
            _or_not_set(line.value),
            words,
        )
        for line, words in zip(lines, notes, strict=True)
    )
    headings = ("option", "yours", "new", "its own effect")
    return Table(headings, rows, whiskers([line.effect for line in lines]))


def _or_not_set(value: str | None) -> Words:
    return "not set" if value is None else Code(value)


def changes(evidence: JobEvidence) -> tuple[Section, ...]:
    """What the answer changes, line by line, and what it put back; masked."""
    found = (changed(evidence), put_back(evidence))
    return masked(tuple(section for section in found if section is not None))


def side_effects(evidence: JobEvidence) -> Section | None:
    """The other metrics and the errors; None where nothing was measured."""
    comparison = evidence.comparison
    effects = comparison.side_effects
    total = comparison.requests + comparison.errors
    parts: list[Part] = []
    if effects:
        rows = tuple(
            (
                wording.METRICS[effect.metric],
                Strong(wording.percent(effect.estimate)),
                wording.interval(effect.ci_low, effect.ci_high),
                wording.standing(effect),
            )
            for effect in effects
        )
        parts.append(Table(("metric", "change", "95 % CI", ""), rows, whiskers(effects)))
    if total:
        failed = f"{wording.thousands(comparison.errors)} of {wording.count(total, 'request')}"
        parts.append(Paragraph(f"Errors of the candidate: {failed}."))
    parts += [Paragraph(wording.sentence(bound.sentence)) for bound in comparison.missed]
    return Section(title="Side effects", parts=tuple(parts)) if parts else None


def file(evidence: JobEvidence) -> Section:
    """The diff to the user's file, and the whole file to deploy."""
    found, own = evidence.recommendation, evidence.job.spec.baseline_ini
    parts: tuple[Part, ...]
    if found.uwsgi_ini == own:
        kept = Paragraph("Your file stays as it is, byte for byte.")
        parts = (kept, _whole("Your file", own))
        if found.compromise:
            words = wording.sentence(found.compromise.sentence)
            parts += (Paragraph(words), _whole("The compromise", found.compromise.uwsgi_ini))
        if found.offered_ini:
            words = "The candidate's file, for production that is as this bench"
            parts += (_whole(words, found.offered_ini),)
    else:
        parts = tuple(_new_file(own, found.uwsgi_ini, found.overlay_ini))
    if masked(found.uwsgi_ini) != found.uwsgi_ini:
        words = f"{MASK} stands for what looks like a secret; the job's uwsgi.ini has it."
        parts += (Paragraph(words, is_quiet=True),)
    return Section(title="The file", parts=parts)


def _new_file(own: str, new: str, overlay: str) -> Iterable[Part]:
    diff = difflib.unified_diff(own.splitlines(), new.splitlines(), "yours", "new", "", "", 2, "")
    changes = "\n".join(list(diff)[2:])
    if len(changes) <= _LONGEST_FILE:
        yield Listing(changes, "diff")
    yield _whole("The whole uwsgi.ini to deploy", new)
    if overlay:
        yield _whole("Only the changes, for a second --ini", overlay)


def _whole(summary: str, ini: str) -> Folded:
    if len(ini) > _LONGEST_FILE:
        words = f"It has {wording.count(len(ini), 'character')}: fetch it from the job's uwsgi.ini."
        return Folded(summary, (Paragraph(words),))
    return Folded(summary, (Listing(ini.rstrip("\n"), "ini"),))
