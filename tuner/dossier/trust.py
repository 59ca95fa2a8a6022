"""How far to trust the answer: what could be seen at all, A/A, doubts, and what limits the app."""

from collections.abc import Iterable

from tuner.dossier import wording
from tuner.dossier.gathering import Dossier
from tuner.dossier.parts import Bullets, Facts, Paragraph, Part, Section, Strong, Words
from tuner.dossier.shares import improvement
from tuner.model import Calibration, Metric


def sections(dossier: Dossier) -> Iterable[Section]:
    """What this job could see, and what limits the app."""
    facts = tuple(_facts(dossier))
    parts: list[Part] = [Facts(facts)] if facts else []
    if dossier.found.doubts:
        parts.append(Paragraph((Strong("What speaks against the figures"),)))
        parts.append(Bullets(tuple((doubt.sentence,) for doubt in dossier.found.doubts)))
    if parts:
        yield Section(title="How far to trust it", parts=tuple(parts))
    yield _diagnosis(dossier)


def _facts(dossier: Dossier) -> Iterable[tuple[str, Words]]:
    comparison, calibration = dossier.found.comparison, dossier.job.calibration
    asked = wording.plain_percent(dossier.job.spec.min_effect)
    if comparison.mde is not None:
        seen = f"{wording.plain_percent(comparison.mde)} or more, from the confirmation's own noise"
        yield "smallest effect it could see", (f"{seen}; asked for was {asked}",)
    if calibration is None:
        return
    if comparison.mde is None:
        seen = f"{wording.plain_percent(calibration.mde)} or more, as planned"
        yield "smallest effect it could see", (f"{seen}; asked for was {asked}",)
    yield "equal files against each other (A/A)", (_equals(calibration, dossier.metric),)


def _equals(calibration: Calibration, metric: Metric) -> str:
    # The bias is a log ratio of the metric itself: more is more, whether or not it is better.
    bias, low, high = (
        _change(log, metric)
        for log in (calibration.bias, calibration.bias_ci_low, calibration.bias_ci_high)
    )
    found = "not known" if bias is None else wording.percent(bias)
    spread = wording.plain_percent(calibration.block_sd)
    blocks = wording.count(calibration.blocks, "block")
    ends = wording.interval(low, high)
    return f"they differ by {found} (99.9 % CI {ends}) in {blocks}; sd of a block {spread}"


def _change(log: float, metric: Metric) -> float | None:
    share = improvement(metric.sign * log, metric)
    return None if share is None else metric.sign * share


def _diagnosis(dossier: Dossier) -> Section:
    found = dossier.found.diagnosis
    figures = ", ".join(f"{name} {value:.3g}" for name, value in found.evidence.items())
    parts: list[Part] = [Paragraph((wording.sentence(found.sentence),))]
    if figures:
        parts.append(Paragraph((f"Seen: {figures}.",), is_quiet=True))
    return Section(title="What limits the app", parts=tuple(parts))
