"""Evidence of what followed the search: the race, the ablation, the confirmation."""

from tuner.judge import analysis
from tuner.nouns import wording
from tuner.nouns.model import Factor, Look, Metric
from tuner.show import charts
from tuner.show.charts import gain_in
from tuner.show.evidence.document import (
    Code,
    Folded,
    Paragraph,
    Part,
    Picture,
    Section,
    Table,
    pictured,
)
from tuner.show.evidence.job_evidence import JobEvidence


def race(evidence: JobEvidence) -> Section | None:
    """Every candidate, round by round; None where no race was run."""
    rounds, metric = evidence.phases.rounds, evidence.metric
    if not rounds:
        return None
    caption = (
        "Candidates against the baseline in fresh shared blocks, with 95 % intervals. After each "
        "round the weaker half leaves. The starts of an unstable candidate differ much: its rank "
        "is by its gain less one standard deviation."
    )
    rows = tuple(
        (
            str(place),
            f"trial {standing.number}{' (unstable)' * standing.is_unstable}",
            gain_in(standing, metric).figure,
            gain_in(standing, metric).interval,
            str(standing.blocks),
            "stays" if rank < own.survivors else "leaves",
        )
        for place, own in enumerate(rounds, 1)
        for rank, standing in enumerate(own.standings)
    )
    picture = Picture(charts.race_chart(rounds, metric), caption)
    return pictured(
        "The race", picture, ("round", "candidate", "gain", "95 % CI", "blocks", ""), rows
    )


def ablation(evidence: JobEvidence) -> Section | None:
    """Each factor's own effect; None where none was measured apart."""
    found, metric = evidence.phases.ablation, evidence.metric
    if found is None or not found.factors:
        return None
    words = (
        f"{wording.count(found.runs, 'run')} of a factorial design between your values and the "
        "candidate's. Where the candidate has your value, the most promising other value takes "
        f"part. The sd of one run is {wording.share(found.sd)}. A line is kept where its effect is "
        f"above {wording.share(analysis.KEEP_EFFECT)} and one-sided p is below "
        f"{analysis.KEEP_P:.2f}. All other lines go back to your values."
    )
    parts: list[Part] = [Paragraph(words)]
    if any(gain_in(factor, metric).is_known for factor in found.factors):
        parts.append(Picture(charts.effects_chart(found.factors, metric)))
    rows = tuple(_factor_row(factor, metric) for factor in found.factors)
    parts.append(Table(("parameters", "gain", "95 % CI", "p", ""), rows))
    return Section(title="What each line contributes", parts=tuple(parts), is_evidence=True)


def _factor_row(factor: Factor, metric: Metric) -> tuple[str | Code, ...]:
    gain = gain_in(factor, metric)
    fate = "kept" if factor.is_kept else "put back"
    name = Code(" + ".join(factor.parameters))
    return (name, gain.figure, gain.interval, f"{factor.p:.2g}", fate)


def confirmation(evidence: JobEvidence) -> Section | None:
    """The fresh blocks and the looks at them; None where there were none."""
    metric, gains = evidence.metric, evidence.block_gains
    looks = [k for k in evidence.comparison.looks if gain_in(k, metric).is_known]
    if not gains and not looks:
        return None
    caption = "Fresh blocks only: none of them helped to choose the candidate."
    if looks:
        caption += (
            " There are several looks at the test, so its bounds are wider than those of a single "
            "look. Beyond the upper bound the candidate is better, beyond the lower one it is "
            "worse."
        )
    parts: list[Part] = [Picture(charts.confirmation(looks, gains, metric), caption)]
    if looks:
        rows = tuple(_look_row(look, metric) for look in looks)
        headings = ("blocks", "gain", "95 % CI of this look", "z", "bound")
        parts.append(Folded("The looks in figures", (Table(headings, rows),)))
    return Section(title="The confirmation", parts=tuple(parts), is_evidence=True)


def _look_row(look: Look, metric: Metric) -> tuple[str, ...]:
    gain = gain_in(look, metric)
    z = f"{look.z:.2f}" if abs(look.z) < charts.LARGEST_Z else "unbounded"
    return (str(look.blocks), gain.figure, gain.interval, z, f"{look.bound:.2f}")
