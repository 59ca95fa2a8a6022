"""The steps that `study.decide` asks for, as SQL, in the caller's transaction."""

from typing import Any, assert_never

from sqlalchemy import Connection, func, or_, update
from sqlalchemy.dialects.postgresql import insert

from tuner.db import hosts, jobs
from tuner.db.ports import JobQueue
from tuner.db.rows import (
    CALIBRATION,
    FACTS,
    FAILURE,
    OUTCOME,
    RECOMMENDATION,
    REPORT,
    block_options_column,
    to_json,
    trial_row,
)
from tuner.db.tables import measurements, trials
from tuner.model import (
    Calibration,
    Enter,
    Fail,
    Job,
    JobState,
    Measure,
    MeasurementId,
    MeasurementState,
    Phase,
    Settle,
    Step,
    Succeed,
    TrialState,
)

_UNSETTLED = (TrialState.WAITING, TrialState.RUNNING)


def apply_step(connection: Connection, queue: JobQueue, job: Job, step: Step) -> None:
    """Write one step. The caller holds the job's lock, so what was decided still holds."""
    match step:
        case Enter():
            _enter(connection, job, step)
        case Settle():
            _settle(connection, job, step)
        case Measure():
            _measure(connection, queue, job, step)
        case Succeed():
            _succeed(connection, queue, job, step)
        case Fail(failure=failure):
            document = to_json(FAILURE, failure)
            jobs.finish(connection, queue, job, state=JobState.FAILED, failure=document)
        case _:
            assert_never(step)


def _enter(connection: Connection, job: Job, step: Enter) -> None:
    values: dict[str, Any] = {"phase": step.phase}
    if job.state is JobState.QUEUED:
        values |= {"state": JobState.RUNNING, "started_at": func.now()}
    if step.facts is not None:
        values["facts"] = to_json(FACTS, step.facts)
    if step.calibration is not None:
        values["calibration"] = _calibration(connection, job, step.calibration)
    if step.finalist is not None:
        values["finalist"] = step.finalist
    jobs.change(connection, job.id, **values)


def _succeed(connection: Connection, queue: JobQueue, job: Job, step: Succeed) -> None:
    values: dict[str, Any] = {"state": JobState.SUCCEEDED, "phase": Phase.DONE}
    if step.recommendation is not None:
        values["recommendation"] = to_json(RECOMMENDATION, step.recommendation)
        values["verdict"] = step.recommendation.verdict
    if step.report is not None:
        values["report"] = to_json(REPORT, step.report)
    if step.calibration is not None:
        values["calibration"] = _calibration(connection, job, step.calibration)
    jobs.finish(connection, queue, job, **values)


def _calibration(connection: Connection, job: Job, found: Calibration) -> Any:
    """The column of the job; the hosts that measured it keep it too."""
    hosts.calibrated(connection, found, with_target=job.spec.target.name)
    return to_json(CALIBRATION, found)


def _settle(connection: Connection, job: Job, step: Settle) -> None:
    """What was written down once is rewritten only where more blocks speak than did then."""
    outcome = step.outcome
    spoke = func.coalesce(trials.c.outcome["blocks"].as_integer(), 1)  # rows of old say nothing
    connection.execute(
        update(trials)
        .where(
            trials.c.job_id == job.id,
            trials.c.number == step.number,
            or_(trials.c.state.in_(_UNSETTLED), spoke < outcome.blocks),
        )
        .values(state=outcome.state, outcome=to_json(OUTCOME, outcome), score=outcome.score)
    )
    jobs.change(connection, job.id)


def _measure(connection: Connection, queue: JobQueue, job: Job, step: Measure) -> None:
    if step.trials:
        new_trials = insert(trials).values([trial_row(job.id, trial) for trial in step.trials])
        connection.execute(new_trials.on_conflict_do_nothing(index_elements=["job_id", "number"]))
    if step.plans:
        rows = [
            {
                "job_id": job.id,
                "sequence": plan.sequence,
                "kind": plan.kind,
                "phase": plan.phase,
                "arms": list(plan.arms),
                "block_options": block_options_column(plan.block_options),
                "state": MeasurementState.QUEUED,
            }
            for plan in step.plans
        ]
        unless_planned = (
            insert(measurements)
            .values(rows)
            .on_conflict_do_nothing(index_elements=["job_id", "sequence"])
        )
        created = connection.execute(unless_planned.returning(measurements.c.id)).scalars()
        for measurement_id in sorted(created):
            queue.defer_measure(jobs.raw(connection), MeasurementId(measurement_id), job.spec.pool)
    jobs.change(connection, job.id)
