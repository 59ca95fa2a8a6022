"""Where a job stands, and all its rows: a few statements for a job of any size."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    RowMapping,
    bindparam,
    case,
    cast,
    func,
    not_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSONPATH

from tuner.nouns.errors import NotFound
from tuner.nouns.model import (
    BASELINE,
    History,
    Job,
    JobId,
    JobState,
    JobStatus,
    Measurement,
    MeasurementId,
    MeasurementKind,
    MeasurementState,
    Phase,
    Tally,
    Trial,
    TrialNumber,
    TrialState,
    Window,
    version_of,
    what_is_missing,
)
from tuner.store.db import jobs as job_rows
from tuner.store.db.hosts import idle_hosts, problems_of_job
from tuner.store.db.jobs import AHEAD
from tuner.store.db.rows import measurement_of, noun_of, window_of
from tuner.store.db.tables import is_open, jobs, measurements, trials, windows

# ---- Where a job stands: two statements, however many trials and windows it has

_BROKEN_BOUND = '$.constraints.* ? (@ > 0 || @ == "Infinity")'

_queue_position = case((jobs.c.state == JobState.QUEUED, AHEAD)).label("queue_position")
_problems = case((is_open, problems_of_job())).label("problems")
_JOBS: BindParameter[int] = bindparam("job_ids", expanding=True)
_of_this_job = jobs.c.id == bindparam("job_id")

# Queries are built once, not for every poll.
_VERSION = select(jobs.c.revision, _queue_position, _problems).where(_of_this_job)

_counts = (
    select(
        func.count().label("candidates"),
        func.count()
        .filter(trials.c.state.not_in((TrialState.WAITING, TrialState.RUNNING)))
        .label("settled"),
    )
    .where(trials.c.job_id == jobs.c.id, trials.c.number != BASELINE)
    .lateral("counts")
)
_best = (
    select(trials)
    .where(
        trials.c.job_id == jobs.c.id,
        trials.c.score.is_not(None),
        not_(func.jsonb_path_exists(trials.c.outcome, cast(_BROKEN_BOUND, JSONPATH))),
    )
    .order_by(trials.c.score.desc(), trials.c.number)
    .limit(1)
    .lateral("best")
)
_BEST = {column.name: f"best_{column.name}" for column in _best.c}
_STATUSES = (
    select(
        jobs,
        _queue_position,
        _problems,
        *_counts.c,
        *(column.label(_BEST[column.name]) for column in _best.c),
    )
    .select_from(jobs.join(_counts, true()).outerjoin(_best, true()))
    .where(jobs.c.id.in_(_JOBS))
)

_first_window = (
    select(windows.c.started_at)
    .where(windows.c.measurement_id == measurements.c.id)
    .order_by(windows.c.index)
    .limit(1)
    .correlate(measurements)
    .scalar_subquery()
)
_took = measurements.c.finished_at - measurements.c.started_at
_alike = (
    measurements.c.kind,
    measurements.c.phase,
    measurements.c.state,
    func.cardinality(measurements.c.arms).label("arm_count"),
    measurements.c.block_options["cycles"].as_integer().label("cycles"),
)
_TALLIES = (
    select(
        measurements.c.job_id,
        *_alike,
        func.count().label("count"),
        func.count(_took).label("timed"),
        func.coalesce(func.sum(func.extract("epoch", _took)), 0).label("took_s"),
        func.coalesce(func.sum(measurements.c.result["load_s"].as_float()), 0).label("load_s"),
        func.array_agg(measurements.c.host.distinct()).label("hosts"),
        func.min(_first_window).label("first_window_at"),
    )
    .where(measurements.c.job_id.in_(_JOBS))
    .group_by(measurements.c.job_id, *_alike[:3], "arm_count", "cycles")
)


def read_version(connection: Connection, job_id: JobId) -> str:
    """The version alone. Raises `NotFound`."""
    row = _found(connection.execute(_VERSION, {"job_id": job_id}).mappings().first(), job_id)
    return version_of(row["revision"], row["queue_position"], _waits_for(row))


def read_status(connection: Connection, job_id: JobId) -> JobStatus:
    """The whole status. Raises `NotFound`."""
    found = read_statuses(connection, [job_id])
    if not found:
        raise NotFound(f"there is no job {job_id}")
    return found[0]


def read_statuses(connection: Connection, job_ids: Collection[JobId]) -> list[JobStatus]:
    """The statuses of these jobs, in their order, in as many statements as for one."""
    ids = {"job_ids": list(job_ids)}
    rows = {row["id"]: row for row in connection.execute(_STATUSES, ids).mappings()}
    alike: defaultdict[int, list[Tally]] = defaultdict(list)
    for row in connection.execute(_TALLIES, ids).mappings():
        alike[row["job_id"]].append(_tally(row))
    return [_status(rows[job_id], alike[job_id]) for job_id in job_ids if job_id in rows]


def _status(row: RowMapping, tallies: Sequence[Tally]) -> JobStatus:
    best = {name: row[label] for name, label in _BEST.items()}
    return JobStatus(
        job=noun_of(Job, row),
        revision=row["revision"],
        queue_position=row["queue_position"],
        waits_for=_waits_for(row),
        candidates=row["candidates"],
        settled=row["settled"],
        best=noun_of(Trial, best) if best["number"] is not None else None,
        tallies=tuple(tallies),
    )


def status_of_new(connection: Connection, job: Job) -> JobStatus:
    """The status of a job that was just made: it has no trials and no measurements."""
    row = connection.execute(_VERSION, {"job_id": job.id}).mappings().one()
    return JobStatus(
        job=job,
        revision=row["revision"],
        queue_position=row["queue_position"],
        waits_for=_waits_for(row),
    )


def _waits_for(row: RowMapping) -> str | None:
    """What the job waits for, from its column `problems`."""
    return None if row["problems"] is None else what_is_missing(row["problems"])


def _found(row: RowMapping | None, job_id: JobId) -> RowMapping:
    if row is None:
        raise NotFound(f"there is no job {job_id}")
    return row


def _tally(row: RowMapping) -> Tally:
    hosts = [host for host in row["hosts"] if host is not None]
    return noun_of(Tally, {**row, "arms": row["arm_count"], "hosts": hosts})


# ---- All rows of one job in a few queries, for a job of any size

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
