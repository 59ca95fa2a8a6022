"""All rows of one job in a few queries, for a job of any size."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, RowMapping, case, func, select, true

from tuner.nouns.model import (
    History,
    Job,
    JobId,
    JobState,
    Measurement,
    MeasurementId,
    MeasurementKind,
    MeasurementState,
    Phase,
    Trial,
    TrialNumber,
    Window,
)
from tuner.store.db import jobs as job_rows
from tuner.store.db.hosts import idle_hosts
from tuner.store.db.rows import measurement_of, noun_of, window_of
from tuner.store.db.tables import measurements, trials, windows

DETAILED = frozenset({Phase.CALIBRATE, Phase.CONFIRM, Phase.CONDITIONS, Phase.COMPARE})
"""Phases whose decision needs the details of their windows. A search decides often, from few
figures: 1 000 windows take 25 ms without details and 140 ms with them."""

_LARGE = ("series", "over_time", "histogram")  # more than the rest of a window


def read_history(
    connection: Connection, row: RowMapping, *, windows_of: Collection[Phase] | None = None
) -> History:
    """All rows of the job of `row`, which was read first: a later change raises its revision.

    Only windows of the present phase have details, and only if that phase is in `DETAILED`. With
    `windows_of`, windows of other phases are left out: a search has most of them.
    """
    job = noun_of(Job, row)
    return History(
        job=job,
        trials=read_trials(connection, job.id),
        measurements=read_measurements(
            connection, job.id, detailed=DETAILED & {job.phase}, windows_of=windows_of
        ),
        now=connection.execute(select(func.now())).scalar_one(),
        revision=row["revision"],
        idle_hosts=tuple(idle_hosts(connection, job)),
        may_start=job.state is not JobState.QUEUED or job_rows.may_start(connection, job.id),
    )


def read_trials(connection: Connection, job_id: JobId) -> tuple[Trial, ...]:
    """In the order of their numbers."""
    query = select(trials).where(trials.c.job_id == job_id).order_by(trials.c.number)
    return tuple(noun_of(Trial, row) for row in connection.execute(query).mappings())


def read_measurements(
    connection: Connection,
    job_id: JobId,
    *,
    detailed: Collection[Phase],
    windows_of: Collection[Phase] | None = None,
) -> tuple[Measurement, ...]:
    """In the order in which they were planned, each with its windows.

    Only the windows of the `detailed` phases come with what is large.
    """
    of_job = measurements.c.job_id == job_id
    window_query = (
        select(*(_wanted(column, detailed) for column in windows.c))
        .join(measurements, measurements.c.id == windows.c.measurement_id)
        .where(of_job)
        .order_by(windows.c.measurement_id, windows.c.index)
    )
    if windows_of is not None:
        window_query = window_query.where(measurements.c.phase.in_(windows_of))
    found: defaultdict[MeasurementId, list[Window]] = defaultdict(list)
    for row in connection.execute(window_query).mappings():
        found[row["measurement_id"]].append(window_of(row))
    query = select(measurements).where(of_job).order_by(measurements.c.sequence)
    return tuple(
        measurement_of(row, found[row["id"]]) for row in connection.execute(query).mappings()
    )


def read_blocks_by_trial(connection: Connection, job_id: JobId) -> Mapping[TrialNumber, int]:
    """In how many complete blocks each trial was measured; a trial in none is left out."""
    arm = func.unnest(measurements.c.arms).table_valued("trial").render_derived(name="arm")
    query = (
        select(arm.c.trial, func.count(measurements.c.id.distinct()))
        .select_from(measurements.join(arm, true()))
        .where(
            measurements.c.job_id == job_id,
            measurements.c.kind == MeasurementKind.BLOCK,
            measurements.c.state == MeasurementState.COMPLETE,
        )
        .group_by(arm.c.trial)
    )
    return {TrialNumber(number): count for number, count in connection.execute(query)}


def _wanted(column: Column[Any], detailed: Collection[Phase]) -> ColumnElement[Any]:
    """The column itself; a large one is NULL for windows of other phases."""
    if column.name not in _LARGE:
        return column
    return case((measurements.c.phase.in_(detailed), column)).label(column.name)
