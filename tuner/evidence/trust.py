"""How far to trust the answer: what could be seen at all, A/A, doubts, and what limits the app."""

from collections.abc import Iterable

from tuner import analysis, wording
from tuner.evidence.gathering import JobEvidence
from tuner.evidence.parts import Bullets, Code, Facts, Paragraph, Part, Section, Strong, Words
from tuner.model import PRESETS, Calibration, Metric

_LONGER = ("standard", "noisy")
"""Budgets with longer and longer blocks."""


def sections(evidence: JobEvidence) -> Iterable[Section]:
    """What this job could see, and what limits the app."""
    facts = tuple(_facts(evidence))
    parts: list[Part] = [Facts(facts)] if facts else []
    if evidence.found.doubts:
        parts.append(Paragraph((Strong("What speaks against the figures"),)))
        parts.append(Bullets(tuple((doubt.sentence,) for doubt in evidence.found.doubts)))
    if parts:
        yield Section(title="How far to trust it", parts=tuple(parts))
    yield _diagnosis(evidence)


def _facts(evidence: JobEvidence) -> Iterable[tuple[str, Words]]:
    comparison, calibration = evidence.found.comparison, evidence.job.calibration
    if comparison.mde is not None:
        yield _sight(evidence, comparison.mde, "from the confirmation's own noise")
    elif calibration is not None:
        yield _sight(evidence, calibration.mde, "as planned")
    if calibration is not None:
        yield "equal files against each other (A/A)", (_equals(calibration, evidence.metric),)


def _sight(evidence: JobEvidence, mde: float, source: str) -> tuple[str, Words]:
    spec = evidence.job.spec
    asked = wording.share(spec.min_effect)
    seen = f"{wording.share(mde)} or more, {source}; asked for was {asked}"
    longer = next((name for name in _LONGER if PRESETS[name].cycles > spec.budget.cycles), None)
    if mde <= spec.min_effect or longer is None:
        return "smallest effect it could see", (seen,)
    seen += ". A quieter host shows smaller ones, and so do the longer blocks of the budget "
    return "smallest effect it could see", (seen, Code(longer))


def _equals(calibration: Calibration, metric: Metric) -> str:
    bias = _change(calibration.bias, metric)
    found = "not known" if bias is None else wording.percent(bias)
    blocks = wording.count(calibration.blocks, "block")
    spread = wording.share(calibration.block_sd)
    if analysis.smallest_bias(calibration) is None:
        few = f"they differ by {found} in {blocks}, too few to tell a bias from noise"
        return f"{few}; sd of a block {spread}"
    ends = wording.interval(
        _change(calibration.bias_ci_low, metric), _change(calibration.bias_ci_high, metric)
    )
    return f"they differ by {found} (99.9 % CI {ends}) in {blocks}; sd of a block {spread}"


def _change(log: float, metric: Metric) -> float | None:
    # The bias is a log ratio of the metric itself: more is more, whether or not it is better.
    share = wording.improvement(metric.sign * log, metric)
    return None if share is None else metric.sign * share


def _diagnosis(evidence: JobEvidence) -> Section:
    found = evidence.found.diagnosis
    figures = ", ".join(f"{name} {value:.3g}" for name, value in found.evidence.items())
    parts: list[Part] = [Paragraph((wording.sentence(found.sentence),))]
    if figures:
        parts.append(Paragraph((f"Seen: {figures}.",), is_quiet=True))
    return Section(title="What limits the app", parts=tuple(parts))
