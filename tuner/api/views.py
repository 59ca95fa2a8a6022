"""Nouns → answers: what people, CI and dashboards see. Pure functions over what was stored."""

import math
from collections.abc import Sequence

from tuner import diagnosis
from tuner.api.evidence import evidence_answer, look_answers
from tuner.api.measured import (
    calibration_answer,
    diagnosis_answer,
    doubt_answers,
    effect_answer,
    error_answer,
    report_answer,
    sees,
    window_answer,
)
from tuner.api.preflight import preflight_answer
from tuner.api.progress import incumbent_of, progress_of
from tuner.model import (
    ChangedLine,
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
    LineAnswer,
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
        error=error_answer(job.failure),
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
        doubts=doubt_answers(outcome.doubts if outcome else ()),
        blocks=blocks,
        error=error_answer(outcome.failure if outcome else None),
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
            "diagnosis": diagnosis_answer(found) if found else None,
            "windows": windows if raw else None,
        }
    )


def recommendation_answer(job: Job, found: Recommendation) -> RecommendationAnswer:
    """The answer to a job."""
    comparison = found.comparison
    return RecommendationAnswer(
        job=job.id,
        app=job.spec.app,
        finished_at=job.finished_at,
        verdict=found.verdict,
        effect=effect_answer(comparison.effect) if comparison.effect else None,
        p_better=comparison.p_better,
        mde=comparison.mde,
        blocks=comparison.blocks,
        requests=comparison.requests,
        errors=comparison.errors,
        side_effects=[effect_answer(effect) for effect in comparison.side_effects],
        missed=comparison.missed,
        looks=look_answers(comparison.looks, job.spec.objective.metric),
        candidate=found.candidate,
        params=found.params,
        lines=[_line(line) for line in found.lines],
        reverted=[_line(line) for line in found.reverted],
        diagnosis=diagnosis_answer(found.diagnosis),
        reason=found.reason,
        doubts=doubt_answers(found.doubts),
        calibration=calibration_answer(job.calibration),
        evidence=evidence_answer(found.evidence, job.spec.objective.metric),
        circumstances=_circumstances(job.spec),
        uwsgi_ini=found.uwsgi_ini,
    )


def _circumstances(spec: JobSpec) -> CircumstancesAnswer:
    return CircumstancesAnswer(
        baseline_ini=spec.baseline_ini,
        target=spec.target,
        limits=spec.limits,
        workload=spec.workload,
        objective=spec.objective,
        slo=spec.slo,
        allow=spec.allow,
        pool=spec.pool,
        cycles=spec.budget.cycles,
        window_s=spec.budget.window_s,
        warmup_s=spec.budget.warmup_s,
        min_effect=spec.min_effect,
    )


def _line(line: ChangedLine) -> LineAnswer:
    return LineAnswer(
        option=line.option,
        value=line.value,
        baseline_value=line.baseline_value,
        effect=effect_answer(line.effect) if line.effect else None,
    )
