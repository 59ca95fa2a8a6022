"""Evidence of what followed the search: the race, the ablation, the confirmation."""

from collections.abc import Iterable

from tuner import analysis, charts, wording
from tuner.evidence.gathering import JobEvidence
from tuner.evidence.parts import Cell, Code, Folded, Paragraph, Part, Picture, Section, Table
from tuner.model import Factor, Metric, Round, Standing


def race(evidence: JobEvidence) -> Section | None:
    """Round by round, who stood where; None where no race was run."""
    rounds, metric = evidence.found.evidence.rounds, evidence.metric
    if not rounds:
        return None
    drawn = charts.race_chart([_rows(own, metric) for own in rounds], wording.gain_label(metric))
    caption = (
        "Candidates against the baseline in fresh shared blocks, with 95 % intervals. After each "
        "round the weaker half leaves; an unstable one, whose starts differ much, is ranked by its "
        "gain less one standard deviation."
    )
    rows: list[tuple[Cell, ...]] = []
    for place, own in enumerate(rounds, 1):
        for rank, standing in enumerate(own.standings):
            gain = wording.improvement(standing.gain, metric)
            low, high = (
                wording.improvement(standing.low, metric),
                wording.improvement(standing.high, metric),
            )
            rows.append(
                (
                    (str(place),),
                    (f"trial {standing.number}{' (unstable)' if standing.is_unstable else ''}",),
                    ("unknown" if gain is None else wording.percent(gain),),
                    (wording.interval(low, high),),
                    (str(standing.blocks),),
                    ("stays" if rank < own.survivors else "leaves",),
                )
            )
    table = Table(("round", "candidate", "gain", "95 % CI", "blocks", ""), tuple(rows))
    return Section(
        title="The race",
        parts=(Picture(drawn, caption), Folded("The same in figures", (table,))),
        is_evidence=True,
    )


def _rows(own: Round, metric: Metric) -> list[charts.Row]:
    rows = (
        _standing(standing, metric, is_out=rank >= own.survivors)
        for rank, standing in enumerate(own.standings)
    )
    return [row for row in rows if row is not None]


def _standing(standing: Standing, metric: Metric, *, is_out: bool) -> charts.Row | None:
    gain = wording.improvement(standing.gain, metric)
    if gain is None:
        return None
    return charts.Row(
        name=f"trial {standing.number}",
        gain=gain,
        low=wording.improvement(standing.low, metric),
        high=wording.improvement(standing.high, metric),
        is_faint=is_out,
        note="unstable" if standing.is_unstable else "",
    )


def ablation(evidence: JobEvidence) -> Section | None:
    """Each factor's own effect; None where none was measured apart."""
    found, metric = evidence.found.evidence.ablation, evidence.metric
    if found is None or not found.factors:
        return None
    known = [row for factor in found.factors if (row := _factor(factor, metric)) is not None]
    spread = wording.share(found.sd)
    words = (
        f"{wording.count(found.runs, 'run')} of a factorial design between your values and the "
        "candidate's, or the most promising other one where the candidate had yours; sd of one "
        f"run {spread}. A line is kept where its effect is above "
        f"{wording.share(analysis.KEEP_EFFECT)} and one-sided p is below "
        f"{analysis.KEEP_P:.2f}; everything else goes back to your value."
    )
    rows = tuple(_factor_cells(factor, metric) for factor in found.factors)
    parts: list[Part] = [Paragraph((words,))]
    if known:
        parts.append(Picture(charts.effects_chart(known, wording.gain_label(metric))))
    parts.append(Table(("parameters", "gain", "95 % CI", "p", ""), rows))
    return Section(title="What each line contributes", parts=tuple(parts), is_evidence=True)


def _factor(factor: Factor, metric: Metric) -> charts.Row | None:
    gain = wording.improvement(factor.effect, metric)
    if gain is None:
        return None
    return charts.Row(
        name=" + ".join(factor.parameters),
        gain=gain,
        low=wording.improvement(factor.low, metric),
        high=wording.improvement(factor.high, metric),
        is_faint=not factor.is_kept,
    )


def _factor_cells(factor: Factor, metric: Metric) -> tuple[Cell, ...]:
    gain = wording.improvement(factor.effect, metric)
    low, high = wording.improvement(factor.low, metric), wording.improvement(factor.high, metric)
    return (
        (Code(" + ".join(factor.parameters)),),
        ("unknown" if gain is None else wording.percent(gain),),
        (wording.interval(low, high),),
        (f"{factor.p:.2g}",),
        ("kept" if factor.is_kept else "put back",),
    )


def confirmation(evidence: JobEvidence) -> Section | None:
    """The fresh blocks and the looks at them; None where there were none."""
    metric, looks = evidence.metric, evidence.found.comparison.looks
    gains = [
        gain for log in evidence.gains if (gain := wording.improvement(log, metric)) is not None
    ]
    glances = [
        charts.Glance(
            blocks=look.blocks,
            z=look.z if abs(look.z) < 1e6 else None,
            bound=look.bound,
            gain=gain,
            low=wording.improvement(look.low, metric),
            high=wording.improvement(look.high, metric),
        )
        for look in looks
        if (gain := wording.improvement(look.estimate, metric)) is not None
    ]
    if not gains and not glances:
        return None
    caption = (
        "Fresh blocks only: none of them helped to choose the candidate. The test is looked at "
        "several times, so its bounds are wider than those of a single look; beyond the upper one "
        "the candidate is better, beyond the lower one it is worse."
        if glances
        else "Fresh blocks only: none of them helped to choose the candidate."
    )
    drawn = charts.confirmation(glances, gains, wording.gain_label(metric))
    parts: list[Part] = [Picture(drawn, caption)]
    if glances:
        parts.append(Folded("The looks in figures", (_looks_table(glances),)))
    return Section(title="The confirmation", parts=tuple(parts), is_evidence=True)


def _looks_table(glances: Iterable[charts.Glance]) -> Table:
    rows = tuple(
        (
            (str(look.blocks),),
            (wording.percent(look.gain),),
            (wording.interval(look.low, look.high),),
            ("without bound" if look.z is None else f"{look.z:.2f}",),
            (f"{look.bound:.2f}",),
        )
        for look in glances
    )
    return Table(("blocks", "gain", "95 % CI of this look", "z", "bound"), rows)
