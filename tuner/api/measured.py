"""Nouns → answers, of what was measured: windows, reports, calibrations, hosts. Pure functions."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import groupby

from tuner import analysis, wording
from tuner.api.preflight import preflight_answer
from tuner.api.progress import block_progress_of
from tuner.api.services import Host
from tuner.model import (
    HOST_IS_STALE_AFTER,
    ArmReport,
    Calibration,
    Diagnosis,
    Doubt,
    Effect,
    Failure,
    Job,
    JobState,
    Measurement,
    Phase,
    Report,
    Spread,
    Window,
)
from tuner.schemas import (
    ArmAnswer,
    CalibratedHostAnswer,
    CalibrationAnswer,
    CalibrationJobAnswer,
    CalibrationPage,
    CalibrationSummary,
    DiagnosisAnswer,
    DoubtAnswer,
    EffectAnswer,
    ErrorAnswer,
    FigureAnswer,
    FingerprintAnswer,
    HostAnswer,
    MeasurementAnswer,
    MeasurementPage,
    MeasurementSummary,
    PoolAnswer,
    PoolHosts,
    PoolList,
    ReportAnswer,
    SeesAnswer,
    SpreadAnswer,
    WindowAnswer,
    WindowList,
)

SEES_AFTER_MINUTES = (5.0, 20.0, 60.0)


def measurement_answer(
    job: Job, measurements: Sequence[Measurement], queue_position: int | None
) -> MeasurementAnswer:
    """A comparison, how far it is, and its report."""
    return MeasurementAnswer(
        **dict(measurement_summary(job)),
        workload=job.spec.workload,
        metric=job.spec.objective.metric,
        progress=block_progress_of(job, measurements),
        report=_report(job.report) if job.report else None,
        preflight=preflight_answer(job),
        error=error_answer(job.failure),
        queue_position=queue_position if job.state is JobState.QUEUED else None,
    )


def measurement_summary(job: Job) -> MeasurementSummary:
    """A comparison in a list."""
    return MeasurementSummary(
        id=job.id,
        app=job.spec.app,
        pool=job.spec.pool,
        files=[variant.name for variant in job.spec.variants],
        state=job.state,
        phase=job.phase,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
    )


def measurement_page(jobs: Sequence[Job], limit: int) -> MeasurementPage:
    """A page of comparisons; a full one may have a successor."""
    following = jobs[-1].id if len(jobs) == limit else None
    return MeasurementPage(measurements=[measurement_summary(job) for job in jobs], next=following)


def window_list(job: Job, measurements: Sequence[Measurement]) -> WindowList:
    """All raw data of a comparison."""
    return WindowList(
        files=[variant.name for variant in job.spec.variants],
        windows=[window_answer(block, w) for block in measurements for w in block.windows],
    )


def window_answer(block: Measurement, window: Window) -> WindowAnswer:
    """One window, raw."""
    seen = asdict(window) | {"histogram": window.histogram.counts}
    return WindowAnswer(
        block=block.sequence,
        phase=Phase(block.phase),
        host=block.host,
        trial=block.arms[window.arm],
        **seen,
    )


def calibration_job_answer(
    job: Job, measurements: Sequence[Measurement], queue_position: int | None
) -> CalibrationJobAnswer:
    """A calibration, and what its hosts can see."""
    return CalibrationJobAnswer(
        **dict(calibration_summary(job)),
        progress=block_progress_of(job, measurements),
        calibration=calibration_answer(job.calibration),
        sees=sees(job.calibration),
        preflight=preflight_answer(job),
        error=error_answer(job.failure),
        queue_position=queue_position if job.state is JobState.QUEUED else None,
    )


def calibration_summary(job: Job) -> CalibrationSummary:
    """A calibration in a list."""
    return CalibrationSummary(
        id=job.id,
        app=job.spec.app,
        pool=job.spec.pool,
        state=job.state,
        phase=job.phase,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
    )


def calibration_page(jobs: Sequence[Job], limit: int) -> CalibrationPage:
    """A page of calibrations; a full one may have a successor."""
    following = jobs[-1].id if len(jobs) == limit else None
    return CalibrationPage(calibrations=[calibration_summary(job) for job in jobs], next=following)


def calibration_answer(found: Calibration | None) -> CalibrationAnswer | None:
    """A calibration; of few blocks the interval of its bias has no ends, or tells nothing."""
    if found is None:
        return None
    ends = {"bias_ci_low": found.bias_ci_low, "bias_ci_high": found.bias_ci_high}
    known = {name: end if math.isfinite(end) else None for name, end in ends.items()}
    return CalibrationAnswer(**asdict(found) | known, smallest_bias=analysis.smallest_bias(found))


def sees(found: Calibration | None) -> list[SeesAnswer]:
    """What a host can tell apart in a few minutes, and in an hour."""
    if found is None or not found.block_s:
        return []
    return [
        SeesAnswer(
            minutes=minutes, effect=analysis.mde_after(minutes, found.block_sd, found.block_s)
        )
        for minutes in SEES_AFTER_MINUTES
    ]


def pool_list(hosts: Iterable[Host], now: datetime) -> PoolList:
    """All pools with their hosts."""
    ordered = sorted(hosts, key=lambda host: (host.pool, host.name))
    return PoolList(
        pools=[
            PoolAnswer(name=pool, hosts=[_host(host, now) for host in members])
            for pool, members in groupby(ordered, key=lambda host: host.pool)
        ]
    )


def pool_hosts(pool: str, hosts: Iterable[Host], now: datetime) -> PoolHosts:
    """The hosts of one pool with what each can see."""
    ordered = sorted(hosts, key=lambda host: host.name)
    return PoolHosts(
        pool=pool,
        hosts=[
            CalibratedHostAnswer(
                **dict(_host(host, now)),
                calibration=calibration_answer(host.calibration),
                calibrated_at=host.calibrated_at,
                calibrated_with=host.calibrated_with,
                sees=sees(host.calibration),
            )
            for host in ordered
        ],
    )


def is_live(host: Host, now: datetime) -> bool:
    """Whether its worker reported lately."""
    return now - host.last_seen <= HOST_IS_STALE_AFTER


def what_is_away(hosts: Sequence[Host], now: datetime) -> tuple[str, str] | None:
    """What keeps every host from measuring, as a system and a sentence; None where one can."""
    live = [host for host in hosts if is_live(host, now)]
    if not live:
        return "worker", "no worker is live in any pool; start one with `tuner worker`"
    problems = [f"{host.name}: {host.problem}" for host in live if host.problem]
    return ("host", "; ".join(problems)) if len(problems) == len(live) else None


def error_answer(failure: Failure | None) -> ErrorAnswer | None:
    """Why something has no result."""
    if failure is None:
        return None
    return ErrorAnswer(code=failure.code, message=failure.message, log_tail=failure.log_tail)


def doubt_answers(doubts: Sequence[Doubt]) -> list[DoubtAnswer]:
    """Doubts with their sentences."""
    return [DoubtAnswer(code=doubt, sentence=doubt.sentence) for doubt in doubts]


def effect_answer(effect: Effect) -> EffectAnswer:
    """A relative change; an interval of few blocks may have no ends."""
    ends = {"ci_low": wording.bounded(effect.ci_low), "ci_high": wording.bounded(effect.ci_high)}
    return EffectAnswer(**asdict(effect) | ends)


def diagnosis_answer(found: Diagnosis) -> DiagnosisAnswer:
    """A bottleneck."""
    return DiagnosisAnswer(**asdict(found))


def _report(found: Report) -> ReportAnswer:
    return ReportAnswer(blocks=found.blocks, arms=[_arm(arm) for arm in found.arms])


def _arm(arm: ArmReport) -> ArmAnswer:
    return ArmAnswer(
        name=arm.name,
        figures=[FigureAnswer(**asdict(figure)) for figure in arm.figures],
        effects=[effect_answer(effect) for effect in arm.effects],
        verdict=arm.verdict,
        blocks=arm.blocks,
        windows=arm.windows,
        requests=arm.requests,
        errors_by_class=arm.errors_by_class,
        diagnosis=diagnosis_answer(arm.diagnosis),
        doubts=doubt_answers(arm.doubts),
        latency=arm.latency.counts,
        connect=_spread(arm.connect),
        proxy_connect=_spread(arm.proxy_connect),
        over_limit=arm.over_limit,
        error=error_answer(arm.failure),
    )


def _spread(found: Spread | None) -> SpreadAnswer | None:
    return SpreadAnswer(**asdict(found)) if found else None


def _host(host: Host, now: datetime) -> HostAnswer:
    known = host.fingerprint
    return HostAnswer(
        name=host.name,
        live=is_live(host, now),
        last_seen=host.last_seen,
        problem=host.problem,
        fingerprint=FingerprintAnswer(**asdict(known)) if known else None,
    )
