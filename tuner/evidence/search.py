"""Evidence of the search: its trials, what it believes of each parameter, the Pareto front."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tuner import charts, wording
from tuner.evidence.gathering import JobEvidence
from tuner.evidence.parts import (
    Bullets,
    Cell,
    Code,
    Folded,
    Gallery,
    Listing,
    Paragraph,
    Part,
    Picture,
    Section,
    Strong,
    Table,
    Words,
)
from tuner.model import BASELINE, Failure, Metric, Origin, Slice, Trial

_AFTER_SEARCH = (Origin.ABLATION, Origin.MINIMAL)
_LOG_LINES = 12


def gaps(evidence: JobEvidence) -> Section | None:
    """What was skipped and what was never tried: evidence that there is none of."""
    found = evidence.found.evidence
    items = [(text,) for text in (*found.skipped, *found.not_tried)]
    if not items:
        return None
    parts = (Bullets(tuple(items)),)
    return Section(title="Skipped and not tried", parts=parts, is_closing=True)


def searched(evidence: JobEvidence) -> list[Trial]:
    """The trials that the search measured: what came after it is left out."""
    return [trial for trial in evidence.trials if trial.origin not in _AFTER_SEARCH]


def gain_of(trial: Trial, metric: Metric) -> float | None:
    """By which share a trial was better than the baseline of its own blocks."""
    return wording.improvement(trial.outcome.score if trial.outcome else None, metric)


def trials(evidence: JobEvidence) -> Section | None:
    """All trials in order, and what each of them tried; None for a job that tried nothing."""
    measured = searched(evidence)
    if len(measured) < 2:
        return None
    metric = evidence.metric
    attempts = [_attempt(trial, evidence) for trial in measured]
    label = wording.gain_label(metric)
    parts: list[Part] = [Paragraph((_summary(evidence, measured),))]
    parts.append(Picture(charts.trials_over_time(attempts, label), _optimistic(evidence)))
    attempts = _with_candidate(attempts, evidence)
    if charts.varied(attempts):
        caption = (
            "Every line is one trial: its values, and at the right its gain. The thick one is the "
            "candidate; dashed ones broke a bound or did not work."
        )
        parts.append(Picture(charts.parallel_coordinates(attempts, label), caption))
    parts.append(Folded("All trials", (_table(measured, metric),)))
    broken = [trial for trial in measured if trial.outcome and trial.outcome.failure]
    if broken:
        parts.append(Folded("What did not work, and why", tuple(_failures(broken))))
    return Section(title="The search", parts=tuple(parts), is_evidence=True)


def _attempt(trial: Trial, evidence: JobEvidence) -> charts.Attempt:
    return charts.Attempt(
        number=trial.number,
        gain=gain_of(trial, evidence.metric),
        is_feasible=trial.outcome is not None and trial.outcome.is_feasible,
        is_chosen=trial.number == evidence.found.candidate,
        values=trial.params,
    )


def _with_candidate(attempts: list[charts.Attempt], evidence: JobEvidence) -> list[charts.Attempt]:
    """The candidate comes along where it was made after the search, with its confirmed gain."""
    trial, effect = evidence.candidate, evidence.found.comparison.effect
    if trial is None or trial.origin not in _AFTER_SEARCH:
        return attempts
    gain = None if effect is None else effect.metric.sign * effect.estimate
    made = charts.Attempt(number=trial.number, gain=gain, is_chosen=True, values=trial.params)
    return [*attempts, made]


def _summary(evidence: JobEvidence, trials: Sequence[Trial]) -> str:
    """How many trials by state, and why the search ended."""
    tried = [trial for trial in trials if trial.number != BASELINE]
    states = Counter(wording.STATES[trial.state] for trial in tried)
    told = ", ".join(f"{number} {state}" for state, number in states.most_common())
    ended = evidence.found.evidence.ended_because
    counted = f"{wording.count(len(tried), 'trial')}: {told}."
    return f"{counted} {wording.sentence(f'it ended because {ended}')}" if ended else counted


def _optimistic(evidence: JobEvidence) -> str:
    gain = wording.improvement(evidence.found.evidence.optimistic_gain, evidence.metric)
    if gain is None:
        return ""
    return (
        f"The best of the search stands at {wording.percent(gain)}: optimistic, and no evidence. "
        "The luckiest of many noisy figures is above its own truth; the answer rests on fresh "
        "blocks alone."
    )


def _table(trials: Sequence[Trial], metric: Metric) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for trial in trials:
        gain = gain_of(trial, metric)
        blocks = str(trial.outcome.blocks) if trial.outcome and gain is not None else ""
        rows.append(
            (
                (str(trial.number),),
                (wording.ORIGINS[trial.origin],),
                (wording.STATES[trial.state],),
                ("",) if gain is None else (wording.percent(gain),),
                (blocks,),
                (Code(wording.params(trial.params)),),
            )
        )
    return Table(("trial", "from", "state", "gain", "blocks", "values"), tuple(rows))


def _failures(trials: Sequence[Trial]) -> Iterable[Part]:
    for trial in trials:
        failure = trial.outcome.failure if trial.outcome else None
        if failure is not None:
            yield Paragraph((Strong(f"Trial {trial.number}"), f": {_told(failure)}"))
            log = failure.log_tail.strip().splitlines()[-_LOG_LINES:]
            if log:
                yield Listing("\n".join(log), "log")


def _told(failure: Failure) -> str:
    return wording.sentence(f"{failure.code.value.replace('_', ' ')}: {failure.message}")


def importances(evidence: JobEvidence) -> Section | None:
    """Each parameter's share with its interval; None where none is known."""
    found = evidence.found.evidence.importances
    if not found:
        return None
    bars = [charts.Bar(name=i.parameter, share=i.share, low=i.low, high=i.high) for i in found]
    rows = tuple(
        (
            (Code(i.parameter),),
            (f"{100 * i.share:.0f} %",),
            (f"{100 * i.low:.0f} % .. {100 * i.high:.0f} %",),
        )
        for i in found
    )
    caption = "With 90 % intervals: where they overlap, the order of the two says nothing."
    return Section(
        title="Which parameters matter",
        parts=(
            Picture(charts.importance_bars(bars), caption),
            Folded("The same in figures", (Table(("parameter", "share", "90 % CI"), rows),)),
        ),
        is_evidence=True,
    )


def slices(evidence: JobEvidence) -> Section | None:
    """What the search expects along each parameter; None where it kept nothing of that."""
    metric = evidence.metric
    known = {s.parameter: _guesses(s, metric) for s in evidence.found.evidence.slices}
    known = {parameter: guesses for parameter, guesses in known.items() if guesses}
    if not known:
        return None
    ends = [end for guesses in known.values() for g in guesses for end in (g.low, g.high)]
    chosen = evidence.candidate.params if evidence.candidate else {}
    drawn = tuple(
        charts.slice_band(
            parameter,
            guesses,
            wording.gain_label(metric),
            users=evidence.users.get(parameter),
            chosen=chosen.get(parameter),
            reach=(min(ends), max(ends)),
        )
        for parameter, guesses in known.items()
    )
    caption = (
        "What the search expects along one parameter, all others as in the candidate, with its "
        "90 % band. A belief, not a measurement: it only says where to look."
    )
    rows = tuple(
        ((Code(parameter),), (Code(wording.value(g.value)),), _expected(g))
        for parameter, guesses in known.items()
        for g in guesses
    )
    table = Table(("parameter", "value", "expected gain (90 % band)"), rows)
    return Section(
        title="Parameter by parameter",
        parts=(Gallery(drawn, caption), Folded("The same in figures", (table,))),
        is_evidence=True,
    )


def _guesses(found: Slice, metric: Metric) -> list[charts.Guess]:
    """The points of a slice that have a readable value and band."""
    guesses = []
    for point in found.points:
        gain = wording.improvement(point.gain, metric)
        low, high = wording.improvement(point.low, metric), wording.improvement(point.high, metric)
        if gain is not None and low is not None and high is not None:
            guesses.append(charts.Guess(value=point.value, gain=gain, low=low, high=high))
    return guesses


def _expected(guess: charts.Guess) -> Words:
    return (f"{wording.percent(guess.gain)} ({wording.interval(guess.low, guess.high)})",)


def front(evidence: JobEvidence) -> Section | None:
    """The Pareto front, the first metric against each of the others; None for one objective."""
    spots = evidence.found.evidence.front
    first, *others = (aim.metric for aim in evidence.job.spec.objective.aims)
    if not spots or not others:
        return None
    parts: list[Part] = []
    because = evidence.found.evidence.chosen_because
    if because:
        parts.append(Paragraph((wording.sentence(because),)))
    rows: list[tuple[Cell, ...]] = []
    gains = [
        {metric: wording.improvement(spot.gains.get(metric), metric) for metric in (first, *others)}
        for spot in spots
    ]
    for metric in others:
        shown = [
            charts.Spot(number=spot.number, across=across, up=up, is_chosen=spot.is_chosen)
            for spot, own in zip(spots, gains, strict=True)
            if (across := own[first]) is not None and (up := own[metric]) is not None
        ]
        drawn = charts.pareto(shown, wording.gain_label(first), wording.gain_label(metric))
        parts.append(Picture(drawn))
    for spot, own in zip(spots, gains, strict=True):
        name: Words = (
            (Strong(f"{spot.number} (chosen)"),) if spot.is_chosen else (str(spot.number),)
        )
        told = [("",) if own[m] is None else (wording.percent(own[m] or 0.0),) for m in own]
        rows.append((name, *told))
    headings = ("trial", *(wording.gain_label(metric).removesuffix(", %") for metric in gains[0]))
    parts.append(Table(headings, tuple(rows)))
    return Section(title="Several objectives", parts=tuple(parts), is_evidence=True)
