"""Nouns → answers: what people, CI and dashboards see. Pure functions over what was stored."""

import math
from collections.abc import Sequence

from tuner.judge import diagnosis
from tuner.nouns.masking import masked
from tuner.nouns.model import (
    History,
    Job,
    JobKind,
    JobStatus,
    JobSummary,
    Measurement,
    Outcome,
    Recommendation,
    Trial,
)
from tuner.nouns.schemas import (
    CircumstancesAnswer,
    JobAnswer,
    JobPage,
    RecommendationAnswer,
    TrialAnswer,
    WindowList,
)
from tuner.service.api.evidence import evidence_answer, look_answers
from tuner.service.api.measured import (
    calibration_answer,
    report_answer,
    sees,
    sentences,
    window_answer,
)
from tuner.service.api.preflight import preflight_answer
from tuner.service.api.progress import incumbent_of, progress_of
from tuner.service.api.sizes import planned, size_of


def job_page(jobs: Sequence[JobSummary], limit: int) -> JobPage:
    """A page of jobs; a full page may have a successor."""
    return JobPage(jobs=jobs, next=jobs[-1].id if len(jobs) == limit else None)


def job_answer(status: JobStatus) -> JobAnswer:
    """A job, its progress and what it has found so far."""
    job, spec = status.job, status.job.spec
    plan = planned(spec, job.facts)
    answer = JobAnswer.of(
        status,
        spec,
        job,
        verdict=job.recommendation.verdict if job.recommendation else None,
        files=_files(job),
        follows=spec.follows.job if spec.follows else None,
        metric=spec.objective.metric,
        size=size_of(spec, plan),
        progress=progress_of(status, plan),
        incumbent=incumbent_of(status),
        calibration=calibration_answer(job.calibration),
        sees=sees(job.calibration),
        report=report_answer(job.report) if job.report else None,
        preflight=preflight_answer(job),
    )
    return masked(answer)


def window_list(job: Job, measurements: Sequence[Measurement]) -> WindowList:
    """All raw data of a job."""
    windows = [window_answer(block, w) for block in measurements for w in block.windows]
    return WindowList(files=_files(job), windows=windows)


def _files(job: Job) -> list[str] | None:
    is_comparison = job.spec.kind is JobKind.COMPARE
    return [variant.name for variant in job.spec.variants] if is_comparison else None


def trial_answer(trial: Trial, blocks: int) -> TrialAnswer:
    """A trial in a list."""
    outcome = trial.outcome or Outcome(state=trial.state)
    return TrialAnswer.of(
        outcome,
        trial,
        ratio=None if outcome.score is None else math.exp(outcome.score),
        doubt_sentences=sentences(outcome.doubts),
        blocks=blocks,
    )


def whole_trial_answer(trial: Trial, blocks: int, history: History, *, raw: bool) -> TrialAnswer:
    """A trial with its bottleneck; with `raw`, also with all its windows."""
    windows = [
        window_answer(block, window)
        for block in history.measurements
        for window in block.windows_of(trial.number)
    ]
    found = diagnosis.of_trial(history, trial.number) if windows else None
    shown = {"diagnosis": found, "windows": windows if raw else None}
    return trial_answer(trial, blocks).model_copy(update=shown)


def recommendation_answer(job: Job, found: Recommendation) -> RecommendationAnswer:
    """The answer of a job: its nouns, with converted units and what the job asked for."""
    return RecommendationAnswer.of(
        found.comparison,
        found,
        job=job.id,
        app=job.spec.app,
        finished_at=job.finished_at,
        looks=look_answers(found.comparison.looks, job.spec.objective.metric),
        doubt_sentences=sentences(found.doubts),
        calibration=calibration_answer(job.calibration),
        evidence=evidence_answer(found.evidence, job.spec.objective.metric),
        circumstances=CircumstancesAnswer.of(job.spec.budget, job.spec),
    )
