"""Steps and grids: each arm against the one before it, and where each curve stops rising."""

from collections.abc import Sequence

from tuner.nouns import wording
from tuner.nouns.model import ArmReport, Curve, Effect, Metric, Report
from tuner.show.evidence.compared_arms import listed
from tuner.show.evidence.document import Code, Paragraph, Part, Row, Section, Table, Words
from tuner.show.evidence.whiskers import whiskers

_MOST_CHANGES = 12  # lines of a step that are shown


def steps(arms: Sequence[ArmReport], metric: Metric) -> Section | None:
    """Each step with the lines that it changes; None if there are no steps."""
    found = [arm for arm in arms if arm.step is not None]
    rows = tuple((Code(arm.name), _changes(arm), *_against_last(arm, metric)) for arm in found)
    headings = ("step", "changes", "against the one before", "verdict")
    table = Table(headings, rows, whiskers([_effect(arm, metric) for arm in found]))
    return Section(title="Step by step", parts=(table,)) if rows else None


def curves(report: Report, metric: Metric) -> Section | None:
    """Each curve level by level, and the sentence on it; None if nothing varies."""
    arms = {arm.name: arm for arm in report.arms}
    parts: list[Part] = []
    for curve in report.curves:
        place = wording.place(curve)
        parts.append(Paragraph(f"{place}{': ' if place else ''}{curve.sentence}."))
        parts.append(_curve(curve, arms, metric))
    return Section(title="Where it stops helping", parts=tuple(parts)) if parts else None


def _curve(curve: Curve, arms: dict[str, ArmReport], metric: Metric) -> Table:
    """A row for each level. The figures of a ladder's rungs are in the table of all figures."""
    own = [arms[name] for name in curve.arms]
    unit = () if any(arm.rungs for arm in own) else (wording.COLUMNS[metric],)
    rows: tuple[Row, ...] = tuple(
        (f"{level:g}", *(_figure(arm, metric) for _ in unit), *_against_last(arm, metric))
        for level, arm in zip(curve.levels, own, strict=True)
    )
    headings = (curve.over, *unit, "against the one below", "verdict")
    return Table(headings, rows, whiskers([_effect(arm, metric) for arm in own]))


def _changes(arm: ArmReport) -> Words:
    """The lines in which a step differs from the one before."""
    lines = arm.step.changes if arm.step is not None else ()
    more = (" ...",) if len(lines) > _MOST_CHANGES else ()
    return (*listed(lines[:_MOST_CHANGES]), *more)


def _against_last(arm: ArmReport, metric: Metric) -> tuple[str, str]:
    """The effect on the arm before, and whether it is real."""
    effect = _effect(arm, metric)
    return wording.effect_with_interval(effect) if effect else "-", wording.reality(arm.step)


def _effect(arm: ArmReport, metric: Metric) -> Effect | None:
    effects = arm.step.effects if arm.step is not None else ()
    return next((effect for effect in effects if effect.metric is metric), None)


def _figure(arm: ArmReport, metric: Metric) -> str:
    known = [f for f in arm.figures if f.metric is metric and f.rung is None]
    return (
        f"{wording.measured(known[0].value, metric)} ({wording.ends(known[0])})" if known else "-"
    )
