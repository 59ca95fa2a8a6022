"""The steps of `study.decide` as SQL, in the caller's transaction."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, assert_never

from sqlalchemy import Connection, func, or_, update
from sqlalchemy.dialects.postgresql import insert

from tuner.nouns.model import (
    Calibration,
    Enter,
    EventKind,
    Fail,
    History,
    Job,
    JobState,
    Measure,
    Measurement,
    MeasurementState,
    Phase,
    Plan,
    Settle,
    Step,
    Succeed,
    Trial,
    TrialState,
)
from tuner.store.db import events, hosts, jobs
from tuner.store.db.engine import JobQueue
from tuner.store.db.rows import block_options_column, measurement_of, to_json, trial_row
from tuner.store.db.tables import measurements, trials

_UNSETTLED = (TrialState.WAITING, TrialState.RUNNING)


def apply_step(
    connection: Connection, queue: JobQueue, history: History, step: Step
) -> History | None:
    """Write one step. The caller holds the job's lock, so the decision is still valid.

    Returns the rows as they are after the step; None: they must be read again, because the step
    changed the job itself.
    """
    job = history.job
    match step:
        case Settle():
            return _settle(connection, history, step)
        case Measure():
            return _measure(connection, queue, history, step)
        case Enter():
            _enter(connection, queue, job, step)
        case Succeed():
            _succeed(connection, queue, job, step)
        case Fail(failure=failure):
            document = to_json(failure)
            jobs.finish(connection, queue, job, state=JobState.FAILED, failure=document)
        case _:
            assert_never(step)
    return None


def _enter(connection: Connection, queue: JobQueue, job: Job, step: Enter) -> None:
    values: dict[str, Any] = {"phase": step.phase}
    if job.state is JobState.QUEUED:
        free = jobs.free_hosts(connection, job.spec.pool, that_measure=False)
        host = free[0] if free else None
        values |= {"state": JobState.RUNNING, "started_at": func.now(), "host": host}
        events.write_of_pool(connection, job.spec.pool, EventKind.QUEUE)
    if step.baseline_ini is not None:
        values["spec"] = to_json(job.spec.with_file(step.baseline_ini))
    if step.facts is not None:
        values["facts"] = to_json(step.facts)
    if step.calibration is not None:
        values["calibration"] = _calibration(connection, job, step.calibration)
    if step.finalist is not None:
        values["finalist"] = step.finalist
    jobs.change(connection, job.id, {EventKind.JOB: ()}, **values)
    if job.state is JobState.QUEUED:
        jobs.wake_next(connection, queue, job.spec.pool)
        events.add(connection, events.of_start(connection, job.id, job.spec.pool))


def _succeed(connection: Connection, queue: JobQueue, job: Job, step: Succeed) -> None:
    values: dict[str, Any] = {"state": JobState.SUCCEEDED, "phase": Phase.DONE}
    if step.recommendation is not None:
        values["recommendation"] = to_json(step.recommendation)
        values["verdict"] = step.recommendation.verdict
    if step.report is not None:
        values["report"] = to_json(step.report)
    if step.calibration is not None:
        values["calibration"] = _calibration(connection, job, step.calibration)
    jobs.finish(connection, queue, job, **values)


def _calibration(connection: Connection, job: Job, found: Calibration) -> Any:
    """The value of the job's column; the hosts that measured it get it too."""
    hosts.calibrated(connection, found, with_target=job.spec.target.name)
    return to_json(found)


def _settle(connection: Connection, history: History, step: Settle) -> History:
    """An outcome is written again only if it rests on more blocks than the stored one."""
    outcome = step.outcome
    stored = func.coalesce(trials.c.outcome["blocks"].as_integer(), 1)
    written = connection.execute(
        update(trials)
        .where(
            trials.c.job_id == history.job.id,
            trials.c.number == step.number,
            or_(trials.c.state.in_(_UNSETTLED), stored < outcome.blocks),
        )
        .values(state=outcome.state, outcome=to_json(outcome), score=outcome.score)
        .returning(trials.c.number)
    ).scalars()
    numbers = set(written)
    jobs.change(connection, history.job.id, {EventKind.TRIAL: [step.number]})
    settled = (
        replace(trial, state=outcome.state, outcome=outcome) if trial.number in numbers else trial
        for trial in history.trials
    )
    return replace(history, revision=history.revision + 1, trials=tuple(settled))


def _measure(connection: Connection, queue: JobQueue, history: History, step: Measure) -> History:
    """Create the trials and the measurements that are not there yet."""
    created = _create_trials(connection, history.job, step.trials) if step.trials else ()
    planned = _create_measurements(connection, history.job, step.plans) if step.plans else ()
    for measurement in planned:
        pool = history.job.spec.pool
        queue.defer_measure(jobs.raw(connection), measurement.id, pool, measurement.host)
    changed: events.Changed = {
        EventKind.TRIAL: [trial.number for trial in created],
        EventKind.BLOCK: [measurement.sequence for measurement in planned],
    }
    jobs.change(connection, history.job.id, {kind: new for kind, new in changed.items() if new})
    return replace(
        history,
        revision=history.revision + 1,
        trials=(*history.trials, *created),
        measurements=(*history.measurements, *planned),
    )


def _create_trials(connection: Connection, job: Job, wanted: Sequence[Trial]) -> tuple[Trial, ...]:
    new = insert(trials).values([trial_row(job.id, trial) for trial in wanted])
    unless_there = new.on_conflict_do_nothing(index_elements=["job_id", "number"])
    numbers = set(connection.execute(unless_there.returning(trials.c.number)).scalars())
    return tuple(trial for trial in wanted if trial.number in numbers)


def _create_measurements(
    connection: Connection, job: Job, plans: Sequence[Plan]
) -> tuple[Measurement, ...]:
    """The new ones, in the order in which they were planned."""
    rows = [
        {
            "job_id": job.id,
            "sequence": plan.sequence,
            "kind": plan.kind,
            "phase": plan.phase,
            "arms": list(plan.arms),
            "block_options": block_options_column(plan.block_options),
            "state": MeasurementState.QUEUED,
            "host": plan.host or job.host,
        }
        for plan in plans
    ]
    new = insert(measurements).values(rows)
    unless_planned = new.on_conflict_do_nothing(index_elements=["job_id", "sequence"])
    created = connection.execute(unless_planned.returning(measurements)).mappings()
    return tuple(sorted(map(measurement_of, created), key=lambda created: created.sequence))
