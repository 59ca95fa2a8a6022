"""Rows of a job to the sections of its page: its answer with the evidence, or what there is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tuner.judge import report
from tuner.nouns import wording
from tuner.nouns.masking import masked
from tuner.nouns.model import History, Job, JobKind, Metric, Phase
from tuner.service.api.services import Services
from tuner.show import evidence
from tuner.show.evidence import Headline, Section
from tuner.study import Scored, answer_so_far, searched

# ---- The trials of a search as what the browser draws, while they come


def plot_of(trials: Sequence[Scored], metric: Metric) -> dict[str, Any] | None:
    """Columns by trial, gains in percent; None before the first score.

    `gain` is of feasible trials, `broken` of those that miss a bound. `words` says of each what a
    reader wants to know who points at it.
    """
    if not any(each.low is not None for each in trials):
        return None
    columns: dict[str, list[Any]] = {
        name: [] for name in ("x", "gain", "broken", "low", "high", "best", "words")
    }
    best: float | None = None
    for each in trials:
        outcome = each.trial.outcome
        gain = _percent(outcome.score if outcome else None, metric)
        is_feasible = outcome is not None and outcome.is_feasible
        if gain is not None and is_feasible:
            best = gain if best is None else max(best, gain)
        ends = sorted(
            (_percent(each.low, metric), _percent(each.high, metric)),
            key=lambda end: (end is None, end or 0.0),
        )
        values = {
            "x": each.trial.number,
            "gain": gain if is_feasible else None,
            "broken": None if is_feasible else gain,
            "low": None if gain is None else ends[0],
            "high": None if gain is None else ends[1],
            "best": best,
            "words": _words(each, gain, metric),
        }
        for name, value in values.items():
            columns[name].append(value)
    return {"label": wording.gain_label(metric), **columns}


def _percent(log: float | None, metric: Metric) -> float | None:
    share = wording.improvement(log, metric)
    return None if share is None else round(100 * share, 2)


def _words(each: Scored, gain: float | None, metric: Metric) -> str:
    trial = each.trial
    outcome = trial.outcome
    if outcome is not None and outcome.failure is not None:
        said = f"{wording.STATES[trial.state]}: {outcome.failure.message}"
    elif gain is None:
        said = wording.STATES[trial.state]
    else:
        low, high = (wording.improvement(end, metric) for end in (each.low, each.high))
        bound = "" if outcome and outcome.is_feasible else ", breaks a bound"
        said = f"{wording.percent(gain / 100)} (95 % CI {wording.interval(low, high)}){bound}"
    return str(masked(f"trial {trial.number}: {said}; {wording.params(trial.params)}"))


# ---- Rows of a job → the sections of its page: its answer with the evidence, or what there is

Found = TypeVar("Found", bound=evidence.MeasuredJob)

_SEEN = (Phase.CALIBRATE, Phase.RACE, Phase.ABLATE, Phase.CONFIRM, Phase.CONDITIONS)
"""Phases whose windows tell something before the answer; a search has most of all windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a page says of a job below its state. `plot` are the columns of the live chart."""

    headline: Headline | None = None
    sections: Sequence[Section] = ()
    plot: dict[str, Any] | None = None


def findings_of(services: Services, job: Job) -> Findings:
    """The answer and its evidence; before that, and without one, what was seen so far."""
    if job.recommendation is not None:
        history = services.store.history(job.id, windows_of=(Phase.CONFIRM,))
        return _document(evidence.compose(_timeless(evidence.collect(history))))
    if job.report is not None:
        history = services.store.history(job.id, windows_of=())
        return _document(evidence.compose_comparison(_timeless(evidence.measured_job(history))))
    if job.spec.kind is JobKind.COMPARE:
        return _compared_so_far(services.store.history(job.id, windows_of=(Phase.COMPARE,)))
    if job.spec.kind is not JobKind.TUNE:
        return Findings()
    history = services.store.history(job.id, windows_of=_SEEN)
    return _so_far(history) if history.trials else Findings()


def _document(document: evidence.Document) -> Findings:
    return Findings(headline=document.headline, sections=document.sections)


def _timeless(found: Found) -> Found:
    """Without the times of windows, of which the page reads only a part."""
    return replace(found, measured_from=None, measured_until=None)


def _compared_so_far(history: History) -> Findings:
    if not any(block.windows for block in history.blocks(Phase.COMPARE)):
        return Findings()
    found = report.build(history)
    return Findings(sections=evidence.compose_comparison_so_far(history.job, found))


def _so_far(history: History) -> Findings:
    job = replace(history.job, recommendation=answer_so_far(history))
    found = evidence.collect(replace(history, job=job))
    return Findings(
        sections=evidence.compose_so_far(found),
        plot=plot_of(searched(history), job.spec.objective.metric),
    )
