"""Nouns → answers: what people, CI and dashboards see. Pure functions over what was stored."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import groupby

from tuner.api.progress import incumbent_of, progress_of
from tuner.api.schemas import (
    CalibrationAnswer,
    DiagnosisAnswer,
    DoubtAnswer,
    EffectAnswer,
    ErrorAnswer,
    FingerprintAnswer,
    HostAnswer,
    JobAnswer,
    JobPage,
    JobSummary,
    LineAnswer,
    PoolAnswer,
    PoolList,
    RecommendationAnswer,
    TrialAnswer,
    WindowAnswer,
)
from tuner.api.services import Host
from tuner.model import (
    Calibration,
    ChangedLine,
    Doubt,
    Effect,
    Failure,
    Job,
    JobState,
    Measurement,
    MeasurementKind,
    MeasurementState,
    Phase,
    Recommendation,
    Trial,
    TrialNumber,
)

LIVE_WITHIN = timedelta(seconds=30)
"""A worker reports every few seconds; one that has been silent for longer is taken for gone."""


def job_summary(job: Job) -> JobSummary:
    """A job in a list."""
    return JobSummary(
        id=job.id,
        app=job.spec.app,
        pool=job.spec.pool,
        state=job.state,
        phase=job.phase,
        verdict=job.recommendation.verdict if job.recommendation else None,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
    )


def job_page(jobs: Sequence[Job], limit: int) -> JobPage:
    """A page of jobs; a full one may have a successor."""
    following = jobs[-1].id if len(jobs) == limit else None
    return JobPage(jobs=[job_summary(job) for job in jobs], next=following)


def job_answer(
    job: Job,
    trials: Sequence[Trial],
    measurements: Sequence[Measurement],
    queue_position: int | None,
) -> JobAnswer:
    """A job, and how far it is."""
    return JobAnswer(
        **dict(job_summary(job)),
        progress=progress_of(job, trials, measurements),
        incumbent=incumbent_of(trials),
        calibration=_calibration(job.calibration),
        error=_error(job.failure),
        queue_position=queue_position if job.state is JobState.QUEUED else None,
    )


def trial_answer(
    trial: Trial, measurements: Sequence[Measurement], *, raw: bool = False
) -> TrialAnswer:
    """A trial; with `raw` all windows of its own sides come along."""
    outcome = trial.outcome
    blocks = [
        m
        for m in measurements
        if m.kind is MeasurementKind.BLOCK
        and m.state is MeasurementState.COMPLETE
        and trial.number in m.sides
    ]
    score = outcome.score if outcome else None
    return TrialAnswer(
        number=trial.number,
        params=trial.params,
        origin=trial.origin,
        state=trial.state,
        score=score,
        ratio=None if score is None else math.exp(score),
        constraints=outcome.constraints if outcome else {},
        doubts=_doubts(outcome.doubts if outcome else ()),
        blocks=len(blocks),
        error=_error(outcome.failure if outcome else None),
        windows=[w for block in blocks for w in _windows(block, trial.number)] if raw else None,
    )


def recommendation_answer(job: Job, found: Recommendation) -> RecommendationAnswer:
    """The answer to a job."""
    comparison = found.comparison
    diagnosis = found.diagnosis
    return RecommendationAnswer(
        job=job.id,
        app=job.spec.app,
        finished_at=job.finished_at,
        verdict=found.verdict,
        effect=_effect(comparison.effect),
        p_better=comparison.p_better,
        mde=comparison.mde,
        blocks=comparison.blocks,
        requests=comparison.requests,
        errors=comparison.errors,
        side_effects=[e for e in map(_effect, comparison.side_effects) if e is not None],
        broken=comparison.broken,
        candidate=found.candidate,
        params=found.params,
        lines=[_line(line) for line in found.lines],
        reverted=[_line(line) for line in found.reverted],
        diagnosis=DiagnosisAnswer(
            bottleneck=diagnosis.bottleneck,
            sentence=diagnosis.sentence,
            evidence=diagnosis.evidence,
        ),
        reason=found.reason,
        doubts=_doubts(found.doubts),
        calibration=_calibration(job.calibration),
        uwsgi_ini=found.uwsgi_ini,
    )


def pool_list(hosts: Iterable[Host], now: datetime) -> PoolList:
    """All pools with their hosts."""
    ordered = sorted(hosts, key=lambda host: (host.pool, host.name))
    return PoolList(
        pools=[
            PoolAnswer(name=pool, hosts=[_host(host, now) for host in members])
            for pool, members in groupby(ordered, key=lambda host: host.pool)
        ]
    )


def is_live(host: Host, now: datetime) -> bool:
    """Whether its worker reported lately."""
    return now - host.last_seen <= LIVE_WITHIN


def what_is_away(hosts: Sequence[Host], now: datetime) -> tuple[str, str] | None:
    """What keeps every host from measuring, as a system and a sentence; None where one can."""
    live = [host for host in hosts if is_live(host, now)]
    if not live:
        return "worker", "no worker is live in any pool; start one with `tuner worker`"
    problems = [f"{host.name}: {host.problem}" for host in live if host.problem]
    return ("host", "; ".join(problems)) if len(problems) == len(live) else None


def _windows(block: Measurement, number: TrialNumber) -> list[WindowAnswer]:
    windows = block.result.windows if block.result else ()
    return [
        WindowAnswer(block=block.sequence, phase=Phase(block.phase), host=block.host, **asdict(w))
        for w in windows
        if block.sides[w.side] == number
    ]


def _host(host: Host, now: datetime) -> HostAnswer:
    known = host.fingerprint
    return HostAnswer(
        name=host.name,
        live=is_live(host, now),
        last_seen=host.last_seen,
        problem=host.problem,
        fingerprint=FingerprintAnswer(**asdict(known)) if known else None,
    )


def _calibration(found: Calibration | None) -> CalibrationAnswer | None:
    return CalibrationAnswer(**asdict(found)) if found else None


def _error(failure: Failure | None) -> ErrorAnswer | None:
    if failure is None:
        return None
    return ErrorAnswer(code=failure.code, message=failure.message, log_tail=failure.log_tail)


def _doubts(doubts: Sequence[Doubt]) -> list[DoubtAnswer]:
    return [DoubtAnswer(code=doubt, sentence=doubt.sentence) for doubt in doubts]


def _effect(effect: Effect | None) -> EffectAnswer | None:
    return EffectAnswer(**asdict(effect)) if effect else None


def _line(line: ChangedLine) -> LineAnswer:
    return LineAnswer(
        option=line.option,
        value=line.value,
        baseline_value=line.baseline_value,
        effect=_effect(line.effect),
    )
