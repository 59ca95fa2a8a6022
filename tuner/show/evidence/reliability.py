"""How reliable the answer is: the smallest detectable effect, A/A, doubts, and the bottleneck."""

from collections.abc import Iterable

from tuner.judge import analysis
from tuner.nouns import wording
from tuner.nouns.model import PRESETS, Calibration, Effect, Metric, ServiceUse
from tuner.show.evidence.document import (
    Bullets,
    Code,
    Facts,
    Paragraph,
    Part,
    Section,
    Strong,
    Table,
    Words,
)
from tuner.show.evidence.job_evidence import JobEvidence

_LONGER = ("standard", "noisy")
"""Budgets with longer and longer blocks."""


def reliability(evidence: JobEvidence) -> Section | None:
    """What this job can detect, and what speaks against it; None where nothing is known."""
    facts = tuple(_facts(evidence))
    parts: list[Part] = [Facts(facts)] if facts else []
    if evidence.recommendation.doubts:
        parts.append(Paragraph(Strong("What speaks against the figures")))
        doubts = evidence.recommendation.doubts
        parts.append(Bullets(tuple(f"{d.sentence}; what to do: {d.remedy}" for d in doubts)))
    return Section(title="How reliable it is", parts=tuple(parts)) if parts else None


def _facts(evidence: JobEvidence) -> Iterable[tuple[str, Words]]:
    mde, calibration = evidence.comparison.mde, evidence.job.calibration
    if mde is not None:
        yield _smallest_effect(evidence, mde, "from the noise of the confirmation")
    elif calibration is not None:
        yield _smallest_effect(evidence, calibration.mde, "as planned")
    if calibration is not None:
        yield "two equal files (A/A)", _equals(calibration, evidence.metric)


def _smallest_effect(evidence: JobEvidence, mde: float, source: str) -> tuple[str, Words]:
    spec = evidence.job.spec
    label = "smallest detectable effect"
    known = f"{wording.share(mde)}, {source}; the job asked for {wording.share(spec.min_effect)}"
    longer = next((name for name in _LONGER if PRESETS[name].cycles > spec.budget.cycles), None)
    if mde <= spec.min_effect or longer is None:
        return label, known
    hint = ". A quieter host can detect less, and so can the longer blocks of the budget "
    return label, (known + hint, Code(longer))


def _equals(calibration: Calibration, metric: Metric) -> str:
    bias = _change(calibration.bias, metric)
    found = "an unknown amount" if bias is None else wording.percent(bias)
    blocks = wording.count(calibration.blocks, "block")
    spread = f"sd of a block {wording.share(calibration.block_sd)}"
    if analysis.smallest_bias(calibration) is None:
        return f"differ by {found} in {blocks}, too few to tell bias from noise; {spread}"
    ends = wording.interval(
        _change(calibration.bias_ci_low, metric), _change(calibration.bias_ci_high, metric)
    )
    return f"differ by {found} (99.9 % CI {ends}) in {blocks}; {spread}"


def _change(log: float, metric: Metric) -> float | None:
    # The bias is a log ratio of the metric itself: more is more, whether or not it is better.
    share = wording.improvement(metric.sign * log, metric)
    return None if share is None else metric.sign * share


def conditions(evidence: JobEvidence) -> Section | None:
    """The candidate where production is unlike the bench; None where nothing was checked."""
    found = evidence.recommendation.conditions
    if not found:
        return None
    metric = wording.METRICS[evidence.metric]
    rows = tuple(
        (
            wording.sentence(each.where)[:-1],
            *_effect(each.effect),
            str(each.blocks),
            wording.SIGNS[each.sign],
        )
        for each in found
    )
    headings = ("where", metric, "95 % interval", "blocks", "what it is there")
    about = "The confirmed file against yours, where production is unlike this bench."
    return Section(
        title="What the answer depends on",
        parts=(Paragraph(about), Table(headings=headings, rows=rows)),
    )


def scenes(evidence: JobEvidence) -> Section | None:
    """Both files where something goes wrong; None where nothing was played."""
    found = evidence.recommendation.scenes
    if not found:
        return None
    rows = tuple(
        (
            wording.sentence(each.scene.sentence)[:-1],
            each.baseline,
            each.candidate,
            ("accepted" if each.is_accepted else each.remedy) if each.is_worse else "",
        )
        for each in found
    )
    headings = ("what goes wrong", "your file", "candidate", "worse: what helps")
    return Section(
        title="Where something goes wrong",
        parts=(
            Paragraph("Both files in the same blocks, under half of the load that they can serve."),
            Table(headings=headings, rows=rows),
        ),
    )


def _effect(effect: Effect | None) -> tuple[str, str]:
    if effect is None:
        return "not measured", ""
    return wording.percent(effect.estimate), wording.interval(effect.ci_low, effect.ci_high)


def diagnosis(evidence: JobEvidence) -> Section:
    """What limits the app, with the figures that show it."""
    found = evidence.recommendation.diagnosis
    figures = ", ".join(f"{name} {value:.3g}" for name, value in found.evidence.items())
    parts: list[Part] = [Paragraph(wording.sentence(found.sentence))]
    if figures:
        parts.append(Paragraph(f"Seen: {figures}.", is_quiet=True))
    if evidence.recommendation.services:
        parts.append(_services(evidence.recommendation.services))
    return Section(title="What limits the app", parts=tuple(parts))


def _services(services: Iterable[ServiceUse]) -> Table:
    """What ran beside the app, under both files."""
    return Table(
        headings=("service", "your file", "candidate"),
        rows=tuple(
            (
                Code(each.name),
                wording.service(each.baseline),
                wording.service(each.candidate, each.baseline),
            )
            for each in services
        ),
    )
