"""Evidence of the search: its trials, what it believes of each parameter, the Pareto front."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tuner.judge import analysis
from tuner.nouns import wording
from tuner.nouns.model import (
    BASELINE,
    Factor,
    Look,
    Metric,
    Origin,
    Outcome,
    ParetoPoint,
    Slice,
    Trial,
    TrialState,
)
from tuner.show import charts
from tuner.show.charts import gain_in, gain_of
from tuner.show.evidence.document import (
    Bullets,
    Code,
    Folded,
    Gallery,
    Listing,
    Paragraph,
    Part,
    Picture,
    Row,
    Section,
    Strong,
    Table,
    pictured,
)
from tuner.show.evidence.job_evidence import JobEvidence

_AFTER_SEARCH = (Origin.ABLATION, Origin.MINIMAL)
_LOG_LINES = 12


def gaps(evidence: JobEvidence) -> Section | None:
    """Phases that were skipped and values that were never tried; None where there are none."""
    items = (*evidence.phases.skipped, *evidence.phases.not_tried)
    if not items:
        return None
    return Section(title="Skipped and not tried", parts=(Bullets(items),), is_closing=True)


def trials(evidence: JobEvidence) -> Section | None:
    """All trials in order with their values; None for a job that tried nothing."""
    measured = [trial for trial in evidence.trials if trial.origin not in _AFTER_SEARCH]
    if len(measured) < 2:
        return None
    metric = evidence.metric
    parts: list[Part] = [Paragraph(_summary(evidence, measured))]
    parts.append(Picture(charts.trials_over_time(measured, metric), _optimistic(evidence)))
    compared = [*measured, *_made_after(evidence)]
    if charts.varied(compared):
        caption = (
            "Every line is one trial: its values, and at the right its gain. The thick line is the "
            "candidate. Dashed lines broke a bound or did not work."
        )
        chosen = evidence.recommendation.candidate
        parts.append(Picture(charts.parallel_coordinates(compared, metric, chosen), caption))
    parts.append(Folded("All trials", (_table(measured, metric),)))
    failures = tuple(part for trial in measured for part in _failure(trial))
    if failures:
        parts.append(Folded("What did not work, and why", failures))
    return Section(title="The search", parts=tuple(parts), is_evidence=True)


def tried(evidence: JobEvidence) -> Section | None:
    """The same while the search goes on: a page draws its trials over time itself."""
    section = trials(evidence)
    if section is None:
        return None
    parts = [part for part in section.parts if part != section.parts[1]]
    return replace(section, parts=tuple(parts))


def _made_after(evidence: JobEvidence) -> Iterable[Trial]:
    """The candidate with its confirmed gain, where it was made after the search."""
    trial, effect = evidence.candidate, evidence.comparison.effect
    if trial is None or trial.origin not in _AFTER_SEARCH:
        return
    is_known = effect is not None and effect.estimate > -1
    score = effect.metric.sign * math.log1p(effect.estimate) if effect and is_known else None
    yield replace(trial, outcome=Outcome(state=TrialState.COMPLETE, score=score))


def _summary(evidence: JobEvidence, trials: Sequence[Trial]) -> str:
    """The number of trials by state, and why the search ended."""
    tried = [trial for trial in trials if trial.number != BASELINE]
    states = Counter(wording.STATES[trial.state] for trial in tried)
    described = ", ".join(f"{number} {state}" for state, number in states.most_common())
    ended = evidence.phases.ended_because
    counted = f"{wording.count(len(tried), 'trial')}: {described}."
    return f"{counted} {wording.sentence(f'it ended because {ended}')}" if ended else counted


def _optimistic(evidence: JobEvidence) -> str:
    gain = wording.improvement(evidence.phases.optimistic_gain, evidence.metric)
    if gain is None:
        return ""
    return (
        f"The best trial of the search stands at {wording.percent(gain)}. That is optimistic, and "
        "no evidence: the luckiest of many noisy figures is above its own truth. The answer rests "
        "on fresh blocks alone."
    )


def _table(trials: Sequence[Trial], metric: Metric) -> Table:
    rows: list[Row] = []
    for trial in trials:
        gain = gain_of(trial, metric)
        blocks = str(trial.outcome.blocks) if trial.outcome and gain is not None else ""
        rows.append(
            (
                str(trial.number),
                wording.ORIGINS[trial.origin],
                wording.STATES[trial.state],
                "" if gain is None else wording.percent(gain),
                blocks,
                Code(wording.params(trial.params)),
            )
        )
    return Table(("trial", "from", "state", "gain", "blocks", "values"), tuple(rows))


def _failure(trial: Trial) -> Iterable[Part]:
    failure = trial.outcome.failure if trial.outcome else None
    if failure is None:
        return
    why = wording.sentence(f"{failure.code.value.replace('_', ' ')}: {failure.message}")
    yield Paragraph((Strong(f"Trial {trial.number}"), f": {why}"))
    log = failure.log_tail.strip().splitlines()[-_LOG_LINES:]
    if log:
        yield Listing("\n".join(log), "log")


def importances(evidence: JobEvidence) -> Section | None:
    """Each parameter's share with its interval; None where none is known."""
    found = evidence.phases.importances
    if not found:
        return None
    rows = tuple(
        (
            Code(i.parameter),
            wording.share(i.share, 0),
            f"{wording.share(i.low, 0)} .. {wording.share(i.high, 0)}",
        )
        for i in found
    )
    caption = "With 90 % intervals: where two overlap, their order says nothing."
    picture = Picture(charts.importance_bars(found), caption)
    return pictured("Which parameters matter", picture, ("parameter", "share", "90 % CI"), rows)


def slices(evidence: JobEvidence) -> Section | None:
    """What the search expects along each parameter; None where nothing of that was kept."""
    metric = evidence.metric
    known = [
        (own.parameter, point, gain)
        for own in evidence.phases.slices
        for point in own.points
        if (gain := gain_in(point, metric)).is_known
    ]
    if not known:
        return None
    shown = {parameter for parameter, _, _ in known}
    bands = _bands(
        evidence,
        [own for own in evidence.phases.slices if own.parameter in shown],
        reach=[end for _, _, gain in known for end in gain],
    )
    caption = (
        "What the search expects along one parameter, with its 90 % band; all other parameters are "
        "as in the candidate. It is a belief, not a measurement: it only says where to look."
    )
    rows = tuple(
        (Code(parameter), Code(wording.value(point.value)), f"{gain.figure} ({gain.interval})")
        for parameter, point, gain in known
    )
    headings = ("parameter", "value", "expected gain (90 % band)")
    return pictured("Parameter by parameter", Gallery(bands, caption), headings, rows)


def _bands(
    evidence: JobEvidence, slices: Sequence[Slice], *, reach: Sequence[float]
) -> tuple[str, ...]:
    """A chart of each slice; `reach` are the shares that all of their axes hold."""
    chosen = evidence.candidate.params if evidence.candidate else {}
    return tuple(
        charts.slice_band(
            own,
            evidence.metric,
            users=evidence.own_params.get(own.parameter),
            chosen=chosen.get(own.parameter),
            reach=reach,
        )
        for own in slices
    )


def front(evidence: JobEvidence) -> Section | None:
    """The Pareto front, the first metric against each of the others; None for one objective."""
    points = evidence.phases.front
    metrics = [aim.metric for aim in evidence.job.spec.objective.aims]
    if not points or len(metrics) == 1:
        return None
    parts: list[Part] = []
    if evidence.phases.chosen_because:
        parts.append(Paragraph(wording.sentence(evidence.phases.chosen_because)))
    parts += [Picture(charts.pareto(points, metrics[0], metric)) for metric in metrics[1:]]
    headings = (wording.gain_label(metric).removesuffix(", %") for metric in metrics)
    rows = tuple(_point_row(point, metrics) for point in points)
    parts.append(Table(("trial", *headings), rows))
    return Section(title="Several objectives", parts=tuple(parts), is_evidence=True)


def _point_row(point: ParetoPoint, metrics: Sequence[Metric]) -> Row:
    gains = [wording.improvement(point.gains.get(metric), metric) for metric in metrics]
    name = Strong(f"{point.number} (chosen)") if point.is_chosen else str(point.number)
    return (name, *("" if gain is None else wording.percent(gain) for gain in gains))


# ---- Evidence of what followed the search: the race, the ablation, the confirmation


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
