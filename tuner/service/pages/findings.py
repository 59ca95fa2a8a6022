"""Rows of a job → the sections of its page: its answer with the evidence, or what there is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tuner.judge import report
from tuner.nouns.model import History, Job, JobKind, Phase
from tuner.service.api.services import Services
from tuner.service.pages.plotting import plot_of
from tuner.show import evidence
from tuner.show.evidence import Headline, Section
from tuner.study import answer_so_far, searched

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
