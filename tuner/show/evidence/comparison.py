"""A comparison as a document: who differs from the first arm, every figure, and what to doubt."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tuner.nouns import wording
from tuner.nouns.masking import masked
from tuner.nouns.model import ArmReport, Curve, Effect, Job, Metric, Report, Verdict
from tuner.show.evidence import capacities, compared_arms, compared_figures
from tuner.show.evidence.compared_arms import listed
from tuner.show.evidence.document import (
    Code,
    Document,
    Figure,
    Gallery,
    Headline,
    Mood,
    Paragraph,
    Part,
    Picture,
    Row,
    Section,
    Strong,
    Table,
    Words,
    whiskers,
)
from tuner.show.evidence.job_evidence import MeasuredJob
from tuner.show.evidence.reliability import provenance

# ---- Steps and grids: each arm against the one before it, and where each curve stops rising

_MOST_CHANGES = 12  # lines of a step that are shown


def steps(arms: Sequence[ArmReport], metric: Metric) -> Section | None:
    """Each step with the lines that it changes; None if there are no steps."""
    found = [arm for arm in arms if arm.step is not None]
    rows = tuple((Code(arm.name), _changes(arm), *_against_last(arm, metric)) for arm in found)
    headings = ("step", "changes", "against the one before", "verdict")
    table = Table(headings, rows, whiskers([_step_effect(arm, metric) for arm in found]))
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
    return Table(headings, rows, whiskers([_step_effect(arm, metric) for arm in own]))


def _changes(arm: ArmReport) -> Words:
    """The lines in which a step differs from the one before."""
    lines = arm.step.changes if arm.step is not None else ()
    more = (" ...",) if len(lines) > _MOST_CHANGES else ()
    return (*listed(lines[:_MOST_CHANGES]), *more)


def _against_last(arm: ArmReport, metric: Metric) -> tuple[str, str]:
    """The effect on the arm before, and whether it is real."""
    effect = _step_effect(arm, metric)
    return wording.effect_with_interval(effect) if effect else "-", wording.reality(arm.step)


def _step_effect(arm: ArmReport, metric: Metric) -> Effect | None:
    effects = arm.step.effects if arm.step is not None else ()
    return next((effect for effect in effects if effect.metric is metric), None)


def _figure(arm: ArmReport, metric: Metric) -> str:
    known = [f for f in arm.figures if f.metric is metric and f.rung is None]
    return (
        f"{wording.measured(known[0].value, metric)} ({wording.ends(known[0])})" if known else "-"
    )


# ---- A comparison as a document: who differs from the first arm, every figure, and what to doubt
#
# While it runs, the same figures without a verdict: who looks often enough at an interval sees it
# exclude 0 some day, whatever is true.


def compose_comparison(found: MeasuredJob) -> Document:
    """The document of a comparison. Raises `ValueError` for a job without a report."""
    job, report = found.job, found.job.report
    if report is None:
        raise ValueError(f"job {job.id} has no report")
    metric = job.spec.objective.metric
    sections = (
        capacities.capacity(report.arms, job.spec.workload),
        _against_first(report.arms, metric),
        compared_figures.relative(report.arms, metric),
        curves(report, metric) or steps(report.arms, metric),
        *compared_figures.charted(report.arms),
        compared_arms.limits(report.arms),
        compared_arms.failures(report.arms),
        compared_arms.doubts(report.arms),
        _all_effects(report.arms),
        *compared_figures.others(report.arms),
        compared_figures.over_seconds(report.arms, job.spec),
        compared_arms.requests(report.arms, job.spec.workload),
        compared_arms.services(report.arms),
        compared_arms.proxies(report.arms),
        compared_arms.files(job.spec.variants),
        provenance(found),
    )
    document = Document(
        headline=_headline(found, report),
        sections=tuple(section for section in sections if section is not None),
    )
    return masked(document, leave=(Picture, Gallery))


def compose_comparison_so_far(job: Job, report: Report) -> tuple[Section, ...]:
    """The sections that the blocks so far have content for. `report` is of these blocks."""
    arms, metric = report.arms, job.spec.objective.metric
    rounds = f"{report.blocks} of {wording.count(job.spec.budget.compare_blocks, 'round')}"
    sections = (
        capacities.capacity(arms, job.spec.workload),
        _against_first(arms, metric, so_far=f"After {rounds}; a verdict needs them all."),
        compared_figures.relative(arms, metric),
        *compared_figures.charted(arms),
        compared_arms.limits(arms),
        compared_arms.failures(arms),
        compared_arms.doubts(arms),
        *compared_figures.others(arms),
        compared_figures.over_seconds(arms, job.spec),
        compared_arms.requests(arms, job.spec.workload),
        compared_arms.services(arms),
        compared_arms.proxies(arms),
    )
    found = tuple(replace(section, is_evidence=False) for section in sections if section)
    return masked(found, leave=(Picture, Gallery))


def _headline(found: MeasuredJob, report: Report) -> Headline:
    spec, arms = found.job.spec, report.arms
    errors = sum(number for arm in arms for number in arm.errors_by_class.values())
    requests = sum(arm.requests for arm in arms)
    has_verdict = len(arms) == 2 and arms[0].capacity is None
    fresh = "fresh containers at each rung" if arms[0].rungs else "fresh containers in each"
    return Headline(
        app=spec.app,
        job=found.job.id,
        verdict=_verdict(arms[1]) if has_verdict else wording.count(len(arms), "arm"),
        mood=Mood.CALM,
        answer=_answer(arms, spec.objective.metric),
        reason=wording.sentence(wording.load(spec.workload)),
        figures=(
            Figure("blocks", wording.thousands(report.blocks), fresh),
            Figure("requests", wording.thousands(requests), "answered as expected"),
            Figure("errors", wording.thousands(errors), "of all arms"),
        ),
        kind="comparison",
    )


def _answer(arms: Sequence[ArmReport], metric: Metric) -> Words:
    """One sentence: the only arm's figure, the only other arm's effect, or how many differ."""
    first, *others = arms
    if first.capacity is not None:
        best = max(arms, key=lambda arm: (arm.capacity and arm.capacity.rps) or 0.0)
        sentence = best.capacity.sentence if best.capacity else ""
        return (Code(best.name), " ", Strong(sentence))
    if not others:
        known = [f for f in first.figures if f.metric is metric and f.rung is None]
        if not known:
            return (Code(first.name), ", rung by rung")
        figure = f"{wording.measured(known[0].value, metric)} {wording.METRICS[metric]}"
        return (Code(first.name), ": ", Strong(figure), f" (95 % CI {wording.ends(known[0])})")
    if len(others) == 1:
        effect = _effect(others[0], metric)
        by = f", {wording.effect_with_interval(effect)}" if effect else ""
        verdict = Strong(_verdict(others[0]))
        return (Code(others[0].name), " against ", Code(first.name), ": ", verdict, by)
    counts = Counter(map(_verdict, others))
    listed = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    return (f"{len(others)} arms against ", Code(first.name), ": ", Strong(listed))


def _verdict(arm: ArmReport) -> str:
    if arm.failure is not None:
        return "not measured to the end"
    return wording.VERDICTS[arm.verdict or Verdict.INCONCLUSIVE]


def _effect(arm: ArmReport, metric: Metric) -> Effect | None:
    return next((effect for effect in arm.effects if effect.metric is metric), None)


def _against_first(
    arms: Sequence[ArmReport], metric: Metric, *, so_far: str = ""
) -> Section | None:
    """Each other arm against the first one, by the metric that decides.

    `so_far` says how far a comparison is that runs: its arms have no verdict yet.
    """
    first, *others = arms
    if first.capacity is not None:
        return None
    effects = [_effect(arm, metric) for arm in others]
    rows = tuple(
        (
            Code(arm.name),
            *(() if so_far else (_verdict(arm),)),
            wording.effect_with_interval(effect) if effect else "-",
        )
        for arm, effect in zip(others, effects, strict=True)
    )
    headings = ("arm", *(() if so_far else ("verdict",)), "in the same blocks")
    note = (Paragraph(so_far, is_quiet=True),) if so_far else ()
    table = Table(headings, rows, whiskers(effects))
    return Section(title=f"Against {first.name}", parts=(*note, table)) if others else None


def _all_effects(arms: Sequence[ArmReport]) -> Section | None:
    """Every metric of each other arm against the first one."""
    first, *others = arms
    rows: tuple[Row, ...] = tuple(
        (
            Code(arm.name),
            wording.METRICS[effect.metric],
            wording.percent(effect.estimate),
            wording.interval(effect.ci_low, effect.ci_high),
        )
        for arm in others
        for effect in arm.effects
    )
    table = Table(("arm", "metric", "effect", "95 % interval"), rows)
    title = f"All effects against {first.name}"
    return Section(title=title, parts=(table,), is_evidence=True) if rows else None
