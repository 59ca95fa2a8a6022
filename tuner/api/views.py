"""Nouns → answers: what people, CI and dashboards see. Pure functions over what was stored."""

import math
from collections.abc import Sequence

from tuner import diagnosis
from tuner.api.evidence import evidence_answer, look_answers
from tuner.api.measured import (
    calibration_answer,
    report_answer,
    sees,
    sentences,
    window_answer,
)
from tuner.api.preflight import preflight_answer
from tuner.api.progress import incumbent_of, progress_of
from tuner.model import (
    History,
    Job,
    JobKind,
    JobSpec,
    JobStatus,
    JobSummary,
    Measurement,
    Recommendation,
    Trial,
)
from tuner.schemas import (
    CircumstancesAnswer,
    JobAnswer,
    JobPage,
    RecommendationAnswer,
    TrialAnswer,
    WindowList,
)


def job_page(jobs: Sequence[JobSummary], limit: int) -> JobPage:
    """A page of jobs; a full page may have a successor."""
    return JobPage(jobs=jobs, next=jobs[-1].id if len(jobs) == limit else None)


def job_answer(status: JobStatus) -> JobAnswer:
    """A job, its progress and what it has found so far."""
    job, spec = status.job, status.job.spec
    return JobAnswer(
        id=job.id,
        kind=spec.kind,
        app=spec.app,
        pool=spec.pool,
        state=job.state,
        phase=job.phase,
        verdict=job.recommendation.verdict if job.recommendation else None,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        files=_files(job),
        workload=spec.workload,
        metric=spec.objective.metric,
        progress=progress_of(status),
        incumbent=incumbent_of(status),
        calibration=calibration_answer(job.calibration),
        sees=sees(job.calibration),
        report=report_answer(job.report) if job.report else None,
        preflight=preflight_answer(job),
        failure=job.failure,
        queue_position=status.queue_position,
    )


def window_list(job: Job, measurements: Sequence[Measurement]) -> WindowList:
    """All raw data of a job."""
    windows = [window_answer(block, w) for block in measurements for w in block.windows]
    return WindowList(files=_files(job), windows=windows)


def _files(job: Job) -> list[str] | None:
    is_comparison = job.spec.kind is JobKind.COMPARE
    return [variant.name for variant in job.spec.variants] if is_comparison else None


def trial_answer(trial: Trial, blocks: int) -> TrialAnswer:
    """A trial in a list."""
    outcome = trial.outcome
    score = outcome.score if outcome else None
    return TrialAnswer(
        number=trial.number,
        params=trial.params,
        origin=trial.origin,
        state=trial.state,
        score=score,
        ratio=None if score is None else math.exp(score),
        gains=outcome.gains if outcome else {},
        constraints=outcome.constraints if outcome else {},
        doubts=outcome.doubts if outcome else (),
        doubt_sentences=sentences(outcome.doubts if outcome else ()),
        blocks=blocks,
        failure=outcome.failure if outcome else None,
    )


def whole_trial_answer(trial: Trial, blocks: int, history: History, *, raw: bool) -> TrialAnswer:
    """A trial with its bottleneck; with `raw`, also with all its windows."""
    found = diagnosis.of_trial(history, trial.number) if blocks else None
    windows = [
        window_answer(block, window)
        for block in history.measurements
        for window in block.windows_of(trial.number)
    ]
    return trial_answer(trial, blocks).model_copy(
        update={
            "diagnosis": found,
            "windows": windows if raw else None,
        }
    )


def recommendation_answer(job: Job, found: Recommendation) -> RecommendationAnswer:
    """The answer of a job: its nouns, with converted units and what the job asked for."""
    known = {
        **vars(found.comparison),
        **vars(found),
        "job": job.id,
        "app": job.spec.app,
        "finished_at": job.finished_at,
        "looks": look_answers(found.comparison.looks, job.spec.objective.metric),
        "doubt_sentences": sentences(found.doubts),
        "calibration": calibration_answer(job.calibration),
        "evidence": evidence_answer(found.evidence, job.spec.objective.metric),
        "circumstances": _circumstances(job.spec),
    }
    return RecommendationAnswer(**known)


def _circumstances(spec: JobSpec) -> CircumstancesAnswer:
    return CircumstancesAnswer(**dict(spec.budget) | dict(spec))
