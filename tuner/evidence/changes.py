"""What the answer means for the file: changed lines, lines put back, side effects, the file."""

import difflib
from collections.abc import Iterable, Sequence

from tuner import wording
from tuner.evidence.gathering import JobEvidence
from tuner.evidence.parts import (
    Cell,
    Code,
    Folded,
    Listing,
    Paragraph,
    Part,
    Section,
    Strong,
    Table,
    Whisker,
    Words,
)
from tuner.model import ChangedLine, Effect, Verdict

_LONGEST_FILE = 12_000  # characters of a listing


def sections(evidence: JobEvidence) -> Iterable[Section]:
    """Sections from the changed lines down to the file."""
    for section in (_changed(evidence), _put_back(evidence), _side_effects(evidence)):
        if section is not None:
            yield section


def _changed(evidence: JobEvidence) -> Section | None:
    lines = evidence.found.lines
    if not lines:
        return None
    parts: list[Part] = [_lines_table(lines, [_kept(evidence, line) for line in lines])]
    if any(line.effect is None for line in lines):
        words = (
            "A line that is not ablated was only measured together with the others: the effect "
            "of the whole file is confirmed, its own share is not known."
        )
        parts.append(Paragraph((words,), is_quiet=True))
    return Section(title="What changes", parts=tuple(parts))


def _kept(evidence: JobEvidence, line: ChangedLine) -> Words:
    if line.effect is None:
        return ("not ablated",)
    shared = _sharers(evidence, line)
    together = f"; together with {', '.join(shared)}" if shared else ""
    return (Strong(wording.percent(line.effect.estimate)), f" {_rest(line.effect)}{together}")


def _rest(effect: Effect) -> str:
    return f"{wording.METRICS[effect.metric]} ({wording.confidence(effect)})"


def _sharers(evidence: JobEvidence, line: ChangedLine) -> list[str]:
    """The parameters with which a line was measured as one factor."""
    ablation = evidence.found.evidence.ablation
    for factor in ablation.factors if ablation else ():
        if line.option in factor.parameters:
            return [name for name in factor.parameters if name != line.option]
    return []


def _put_back(evidence: JobEvidence) -> Section | None:
    lines = evidence.found.reverted
    if not lines:
        return None
    is_better = evidence.found.verdict is Verdict.BETTER
    words = "These were tried, and your file stays without them."
    if is_better:
        apart = all(line.effect for line in lines)
        measured = " Each was measured apart from the others, and" if apart else " They"
        words = f"The search had chosen these too.{measured} did not earn a line in your file."
    told = [_why_not(line.effect) for line in lines]
    title = "Put back to your values" if is_better else "Tried, and not recommended"
    return Section(title=title, parts=(Paragraph((words,)), _lines_table(lines, told)))


def _why_not(effect: Effect | None) -> Words:
    if effect is None:
        return ("not ablated",)
    reasons = {"better": "too small to keep", "worse": "harmful", "inside noise": "inside noise"}
    ends = wording.interval(effect.ci_low, effect.ci_high)
    reason = reasons[wording.standing(effect)]
    return (f"{reason}: {wording.percent(effect.estimate)} ({ends})",)


def _lines_table(lines: Sequence[ChangedLine], told: Sequence[Words]) -> Table:
    """The lines as a diff, with what is known of each; the picture only where there is any."""
    drawn = any(line.effect for line in lines)
    reach = _reach([line.effect for line in lines if line.effect])
    rows: list[tuple[Cell, ...]] = []
    for line, words in zip(lines, told, strict=True):
        own: Words = ("not set",) if line.baseline_value is None else (Code(line.baseline_value),)
        row: tuple[Cell, ...] = ((Code(line.option),), own, (Code(line.value),), words)
        rows.append((*row, _whisker(line.effect, reach) if line.effect else ()) if drawn else row)
    headings = ("option", "yours", "new", "effect of its own")
    return Table((*headings, "") if drawn else headings, tuple(rows))


def _side_effects(evidence: JobEvidence) -> Section | None:
    comparison = evidence.found.comparison
    effects = comparison.side_effects
    total = comparison.requests + comparison.errors
    parts: list[Part] = []
    if effects:
        reach = _reach(effects)
        rows = tuple(
            (
                (wording.METRICS[effect.metric],),
                (Strong(wording.percent(effect.estimate)),),
                (wording.interval(effect.ci_low, effect.ci_high),),
                (wording.standing(effect),),
                _whisker(effect, reach),
            )
            for effect in effects
        )
        parts.append(Table(("metric", "change", "95 % CI", "", ""), rows))
    if total:
        errors = f"{comparison.errors:,}".replace(",", " ")
        words = f"Errors of the candidate: {errors} of {wording.count(total, 'request')}."
        parts.append(Paragraph((words,)))
    if comparison.broken:
        names = ", ".join(sorted(comparison.broken))
        parts.append(Paragraph((Strong("Bounds not kept: "), Code(names))))
    return Section(title="Arm effects", parts=tuple(parts)) if parts else None


def _reach(effects: Sequence[Effect]) -> float:
    """Where the edge of a row of small pictures lies: all figures fit, and most intervals."""
    sizes = [abs(effect.estimate) for effect in effects]
    ends = [wording.bounded(end) for effect in effects for end in (effect.ci_low, effect.ci_high)]
    known = sorted(abs(end) for end in ends if end is not None)
    middle = known[(3 * len(known)) // 4 - 1] if known else 0.0
    return 1.1 * max([*sizes, middle, 0.01])


def _whisker(effect: Effect, reach: float) -> Whisker:
    """The effect turned so that better is to the right, whatever the metric."""
    sign = effect.metric.sign
    low, high = wording.bounded(effect.ci_low), wording.bounded(effect.ci_high)
    if sign < 0:
        low, high = (None if high is None else -high), (None if low is None else -low)
    return Whisker(gain=sign * effect.estimate, low=low, high=high, reach=reach)


def file_section(evidence: JobEvidence) -> Section:
    """The diff to the user's file, and the whole file to deploy."""
    found, own = evidence.found, evidence.job.spec.baseline_ini
    if found.uwsgi_ini == own:
        words = Paragraph(("Your file stays as it is, byte for byte.",))
        return Section(title="The file", parts=(words, _whole("Your file", own)))
    diff = difflib.unified_diff(
        own.splitlines(), found.uwsgi_ini.splitlines(), "yours", "new", lineterm="", n=2
    )
    changes = "\n".join(list(diff)[2:])
    parts: list[Part] = []
    if len(changes) <= _LONGEST_FILE:
        parts.append(Listing(changes, "diff"))
    parts.append(_whole("The whole uwsgi.ini to deploy", found.uwsgi_ini))
    if found.overlay_ini:
        parts.append(_whole("Only the changes, for a second --ini", found.overlay_ini))
    return Section(title="The file", parts=tuple(parts))


def _whole(summary: str, ini: str) -> Folded:
    if len(ini) > _LONGEST_FILE:
        words = f"It has {wording.count(len(ini), 'character')}: fetch it from the job's uwsgi.ini."
        return Folded(summary, (Paragraph((words,)),))
    return Folded(summary, (Listing(ini.rstrip("\n"), "ini"),))
