"""The schema. Fields that people query in SQL are columns; the rest of a noun is one document.

Times are `timestamptz`. Enums are text with a CHECK. A change here needs a migration: without it
`alembic check` fails.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, get_args, get_origin, get_type_hints

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB
from sqlalchemy.types import TypeEngine

from tuner.nouns.model import (
    Action,
    Checker,
    Counted,
    EventKind,
    JobKind,
    JobState,
    MeasurementKind,
    MeasurementState,
    Origin,
    Phase,
    Priority,
    Scope,
    TrialState,
    Verdict,
    Window,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_DOCUMENT = JSONB(none_as_null=True)
_SCALARS: Mapping[Any, TypeEngine[Any]] = {
    int: BigInteger(),
    float: Float(),
    str: Text(),
    datetime: DateTime(timezone=True),
}
_AS_WRITTEN = JSON(
    none_as_null=True
)  # jsonb would sort the keys, and the keys of a space order the lines of the file


def _one_of(
    name: str, members: type[StrEnum], *, nullable: bool = False
) -> tuple[Column[str], CheckConstraint]:
    """A column for the text of an enum, and the check that holds it to the enum's members."""
    values = ", ".join(f"'{member.value}'" for member in members)
    check = CheckConstraint(f"{name} IN ({values})", name=name)
    return Column(name, Text, nullable=nullable), check


def _time(name: str, *, nullable: bool = True, now: bool = False) -> Column[datetime]:
    return Column(
        name,
        DateTime(timezone=True),
        nullable=nullable,
        server_default=func.now() if now else None,
    )


def _columns_of(noun: type) -> Iterator[Column[Any]]:
    """A column for each field. A field with a default may be NULL, which means that default."""
    types = get_type_hints(noun)
    for field in fields(noun):
        is_required = field.default is MISSING and field.default_factory is MISSING
        yield Column(field.name, _type_of(types[field.name]), nullable=not is_required)


def _type_of(hint: Any) -> TypeEngine[Any]:
    """Numbers, times and texts have SQL types; anything else is a document."""
    if get_origin(hint) is tuple and not is_dataclass(get_args(hint)[0]):
        return ARRAY(_SCALARS.get(get_args(hint)[0], Text()))
    scalars = [_SCALARS[kind] for kind in get_args(hint) or (hint,) if kind in _SCALARS]
    return scalars[0] if scalars and get_origin(hint) is not Mapping else _DOCUMENT


jobs = Table(
    "jobs",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    *_one_of("kind", JobKind),
    Column("app", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("host", Text),  # that measures it; see `tuner.store.db.jobs`
    *_one_of("priority", Priority),
    *_one_of("state", JobState),
    *_one_of("phase", Phase),
    Column("spec", _AS_WRITTEN, nullable=False),
    Column("facts", _DOCUMENT),
    Column("calibration", _DOCUMENT),
    Column("finalist", Integer),
    *_one_of("finish_in", Phase, nullable=True),
    Column("recommendation", _DOCUMENT),
    Column("report", _DOCUMENT),
    Column("failure", _DOCUMENT),
    *_one_of(
        "verdict", Verdict, nullable=True
    ),  # also in the recommendation; a column, so that SQL can select by it
    Column("idempotency_key", Text),
    Column("request_sha256", Text, nullable=False),
    Column("asked_sha256", Text),  # of what is asked for: equal requests have equal ones
    Column("submitted_by", Text),
    Column("submitted_key", Text, nullable=False, server_default=text("''")),
    _time("created_at", nullable=False, now=True),
    _time("started_at"),
    _time("finished_at"),
    _time("pruned_at"),
    Column("revision", BigInteger, nullable=False, server_default=text("1")),
    UniqueConstraint("submitted_key", "idempotency_key"),
    Index("uq_jobs_host_running", "host", unique=True, postgresql_where=text("state = 'running'")),
    Index(
        "ix_jobs_pool_open", "pool", "id", postgresql_where=text("state IN ('queued', 'running')")
    ),
    Index("ix_jobs_app_id", "app", "id"),
    Index("ix_jobs_asked", "asked_sha256", "id"),
    Index("ix_jobs_kind_state_id", "kind", "state", "id"),
    Index(
        "ix_jobs_answered",
        "app",
        "id",
        postgresql_where=text("kind = 'tune' AND state = 'succeeded'"),
    ),
)

trials = Table(
    "trials",
    metadata,
    Column("job_id", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("params", _DOCUMENT, nullable=False),
    Column("params_key", Text, nullable=False),  # canonical text of params: no pair twice in a job
    *_one_of("origin", Origin),
    *_one_of("state", TrialState),
    Column("outcome", _DOCUMENT),
    Column("score", Float),
    UniqueConstraint("job_id", "params_key"),
)

measurements = Table(
    "measurements",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("job_id", ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("sequence", Integer, nullable=False),
    *_one_of("kind", MeasurementKind),
    *_one_of("phase", Phase),
    Column("arms", ARRAY(Integer), nullable=False),
    Column("block_options", _DOCUMENT),  # null: those of the job's budget
    *_one_of("state", MeasurementState),
    Column("attempt", Integer, nullable=False, server_default=text("0")),
    Column("faults", Integer, nullable=False, server_default=text("0")),
    Column("last_fault", Text),
    Column("host", Text),  # that measures it, or will; null: any host of the pool
    Column("worker_id", BigInteger),  # the holder; see `hosts.lives`
    _time("started_at"),
    _time("finished_at"),
    Column("result", _DOCUMENT),  # all but the windows
    Column("failure", _DOCUMENT),
    UniqueConstraint("job_id", "sequence"),
    Index("ix_measurements_host_running", "host", postgresql_where=text("state = 'running'")),
    Index(
        "ix_measurements_open",
        "job_id",
        postgresql_where=text("state IN ('queued', 'running')"),
    ),
)

windows = Table(
    "windows",
    metadata,
    Column("measurement_id", ForeignKey("measurements.id", ondelete="CASCADE")),
    Column("trial_number", Integer, nullable=False),
    *_columns_of(Window),
    PrimaryKeyConstraint("measurement_id", "index"),
)

hosts = Table(
    "hosts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("pool", Text, nullable=False),
    Column("fingerprint", _DOCUMENT),
    _time("last_seen", nullable=False),
    Column("worker_id", BigInteger),  # the queue's number of its worker
    Column("problem", Text),
    _time("drained_at"),
    Column("calibration", _DOCUMENT),  # the last one, of any job
    _time("calibrated_at"),
    Column("calibrated_with", Text),  # the target app or image
)

events = Table(
    "events",
    metadata,
    # In the order of commits: a trigger of the migration numbers each row anew at its commit.
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    *_one_of("kind", EventKind),
    Column("job", BigInteger),
    Column("pool", Text),
    Column("numbers", ARRAY(Integer), nullable=False, server_default=text("'{}'::integer[]")),
)

totals = Table(  # see `tuner.store.db.events`
    "totals",
    metadata,
    *_one_of("counted", Counted),
    Column("pool", Text, nullable=False),
    Column("labels", _DOCUMENT, nullable=False),
    Column("value", Float, nullable=False),
    PrimaryKeyConstraint("counted", "pool", "labels"),
)

links = Table(
    "links",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("job_id", ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("token_sha256", Text, nullable=False, unique=True),  # hex; the token is nowhere
    _time("created_at", nullable=False, now=True),
    _time("expires_at"),
    Index("ix_links_job_id", "job_id"),
)

keys = Table(
    "keys",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False),
    *_one_of("scope", Scope),
    Column("apps", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    Column("reads", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    Column("secret_sha256", Text, nullable=False, unique=True),  # hex; the secret is nowhere
    _time("created_at", nullable=False, now=True),
    _time("expires_at"),
)

secrets = Table(
    "secrets",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    _time("at", nullable=False, now=True),
    Column("who", Text),
    *_one_of("action", Action),
    Column("job", BigInteger),  # no reference: a job that is deleted stays in the audit
    Column("said", Text, nullable=False),
)

checks = Table(  # the last one of each checker
    "checks",
    metadata,
    Column("app", Text, nullable=False),
    *_one_of("checker", Checker),
    Column("job_id", ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False),
    Column("holds", Boolean, nullable=False),
    Column("said", Text, nullable=False),
    _time("at", nullable=False, now=True),
    PrimaryKeyConstraint("app", "checker"),
    Index("ix_checks_job_id", "job_id"),
)

is_open = jobs.c.state.in_((JobState.QUEUED, JobState.RUNNING))
"""The job has not ended."""

is_open_work = measurements.c.state.in_((MeasurementState.QUEUED, MeasurementState.RUNNING))
"""The measurement has not ended."""
