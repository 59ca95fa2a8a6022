"""Nouns to answers: what people, CI and dashboards see. Pure functions over what was stored."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from tuner.bench.measurement import left_out
from tuner.judge import analysis, diagnosis
from tuner.nouns import wording
from tuner.nouns.masking import masked
from tuner.nouns.model import (
    LOG,
    Calibration,
    Doubt,
    Evidence,
    History,
    Job,
    JobKind,
    JobStatus,
    JobSummary,
    LeftOut,
    Measurement,
    Metric,
    Outcome,
    Phase,
    Recommendation,
    Report,
    Trial,
    Window,
    extended,
)
from tuner.nouns.schemas import (
    ArmAnswer,
    CalibrationAnswer,
    CircumstancesAnswer,
    EvidenceAnswer,
    JobAnswer,
    JobPage,
    LeftOutAnswer,
    LookAnswer,
    PreflightAnswer,
    ProvenanceAnswer,
    RecommendationAnswer,
    ReportAnswer,
    SeesAnswer,
    TrialAnswer,
    TrialsAnswer,
    TrialSummary,
    TuneReport,
    WindowAnswer,
    WindowList,
)
from tuner.service.api.sizes import incumbent_of, planned, progress_of, size_of
from tuner.show.evidence import JobEvidence

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


# ---- Nouns → answers, of what is known of a job's files before the first trial. Pure functions


def preflight_answer(job: Job) -> PreflightAnswer:
    """What trials go without is known from the request on, the rest once a host has looked."""
    found = job.facts.preflight if job.facts else None
    gone = found.left_out if found else left_out(job.spec)
    return PreflightAnswer(
        left_out=[_left_out(line) for line in gone],
        somaxconn=found.somaxconn if found else None,
        findings=found.findings if found else None,
    )


def _left_out(line: LeftOut) -> LeftOutAnswer:
    where = f"line {line.line}" + (f" of {line.file}" if line.file else "")
    return extended(
        LeftOutAnswer,
        line,
        sentence=f"trials leave out {line.option} ({where}): {line.danger.sentence}",
    )


# ---- Nouns → answers, of what was measured: windows, reports, calibrations. Pure functions

SEES_AFTER_MINUTES = (5.0, 20.0, 60.0)


def window_answer(block: Measurement, window: Window) -> WindowAnswer:
    """One window, raw."""
    return extended(
        WindowAnswer,
        window,
        block=block.sequence,
        phase=Phase(block.phase),
        host=block.host,
        trial=block.arms[window.arm],
    )


def calibration_answer(found: Calibration | None) -> CalibrationAnswer | None:
    """A calibration with the smallest bias that its blocks can detect."""
    if found is None:
        return None
    return extended(CalibrationAnswer, found, smallest_bias=analysis.smallest_bias(found))


def sees(found: Calibration | None) -> tuple[SeesAnswer, ...]:
    """What a host can tell apart in a few minutes, and in an hour."""
    if found is None or not found.block_s:
        return ()
    return tuple(
        SeesAnswer(
            minutes=minutes, effect=analysis.mde_after(minutes, found.block_sd, found.block_s)
        )
        for minutes in SEES_AFTER_MINUTES
    )


def report_answer(found: Report) -> ReportAnswer:
    """The figures of a comparison. Steps show lines of files, so secrets in them are masked."""
    arms = [extended(ArmAnswer, arm, doubt_sentences=sentences(arm.doubts)) for arm in found.arms]
    return masked(ReportAnswer.of(found, arms=arms))


def sentences(doubts: Iterable[Doubt]) -> tuple[str, ...]:
    """Each of the doubts in a sentence."""
    return tuple(doubt.sentence for doubt in doubts)


# ---- Nouns → answers, of how an answer came about: logs become relative gains. Pure functions

Noun = TypeVar("Noun", bound="DataclassInstance")

NO_EVIDENCE = (
    "optimistic, not evidence: the luckiest of many noisy figures is above its own truth; "
    "effect is what fresh blocks say"
)


def relative(noun: Noun, metric: Metric) -> Noun:
    """The noun with relative gains where it has log ratios. Those of a mapping are by metric."""
    return replace(
        noun,
        **{
            name: _relative(getattr(noun, name), metric, is_log=name in _logs(type(noun)))
            for name in (field.name for field in fields(noun))
        },
    )


@cache
def _logs(kind: type) -> frozenset[str]:
    """The fields of a noun that hold log ratios."""
    hints = get_type_hints(kind, include_extras=True)
    return frozenset(name for name, hint in hints.items() if LOG in get_args(hint))


def _relative(value: Any, metric: Metric, *, is_log: bool) -> Any:
    if isinstance(value, tuple):
        return tuple(_relative(item, metric, is_log=is_log) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return relative(value, metric)
    if not is_log or value is None:
        return value
    if isinstance(value, Mapping):
        return {name: wording.share_of(log, Metric(name)) for name, log in value.items()}
    return wording.share_of(value, metric)


def evidence_answer(found: Evidence, metric: Metric) -> EvidenceAnswer:
    """How the answer came about."""
    is_known = wording.improvement(found.optimistic_gain, metric) is not None
    note = NO_EVIDENCE if is_known else ""
    return extended(EvidenceAnswer, relative(found, metric), optimistic_gain_note=note)


def tune_report(found: JobEvidence, answer: RecommendationAnswer) -> TuneReport:
    """The whole report for machines; `answer` is the recommendation as it is sent elsewhere."""
    states = Counter(trial.state.value for trial in found.trials)
    return TuneReport(
        recommendation=answer,
        preflight=preflight_answer(found.job),
        trials=TrialsAnswer(
            by_state=dict(sorted(states.items())),
            trials=[_trial(trial, found.metric) for trial in found.trials],
        ),
        by_request=found.by_request,
        provenance=_provenance(found),
    )


def _trial(trial: Trial, metric: Metric) -> TrialSummary:
    outcome = trial.outcome
    gain = wording.improvement(outcome.score, metric) if outcome else None
    return TrialSummary.of(
        trial,
        gain=gain,
        blocks=outcome.blocks if outcome and gain is not None else 0,
        is_feasible=outcome is not None and outcome.is_feasible,
        failure=outcome.failure.code if outcome and outcome.failure else None,
    )


def _provenance(found: JobEvidence) -> ProvenanceAnswer:
    spec, facts = found.job.spec, found.job.facts
    return extended(
        ProvenanceAnswer,
        found,
        pool=spec.pool,
        fingerprint=facts.fingerprint if facts else None,
        uwsgi_version=facts.uwsgi_version if facts else None,
        image_digest=facts.image_digest if facts else None,
        target=spec.target.name,
        sampler=spec.sampler.value,
        seed=spec.seed,
    )


# ---- Nouns → answers: what people, CI and dashboards see. Pure functions over what was stored


def job_page(jobs: Sequence[JobSummary], limit: int) -> JobPage:
    """A page of jobs; a full page may have a successor."""
    return JobPage(jobs=jobs, next=jobs[-1].id if len(jobs) == limit else None)


def job_answer(status: JobStatus) -> JobAnswer:
    """A job, its progress and what it has found so far."""
    job, spec = status.job, status.job.spec
    fitted = analysis.within_minutes(spec, job.calibration)
    plan = planned(fitted, job.facts, job.calibration)
    answer = JobAnswer.of(
        status,
        spec,
        job,
        verdict=job.recommendation.verdict if job.recommendation else None,
        files=_files(job),
        follows=spec.follows.job if spec.follows else None,
        metric=spec.objective.metric,
        size=size_of(fitted, plan),
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
    metric, looks = job.spec.objective.metric, found.comparison.looks
    return RecommendationAnswer.of(
        found.comparison,
        found,
        job=job.id,
        app=job.spec.app,
        finished_at=job.finished_at,
        looks=[extended(LookAnswer, relative(look, metric)) for look in looks],
        doubt_sentences=sentences(found.doubts),
        calibration=calibration_answer(job.calibration),
        evidence=evidence_answer(found.evidence, metric),
        circumstances=CircumstancesAnswer.of(job.spec.budget, job.spec),
    )
