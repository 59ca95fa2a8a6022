"""All tables: jobs, measurements, windows, hosts, events, keys, and the queue's own.

Revision: 20261129_tables, the first. A database of an earlier development version is made anew
(CHANGELOG.md says how).

procrastinate names each change of its schema by a file. `LAST_CHANGE` is the newest file in
procrastinate 3.10.0, whose `schema.sql` this revision applies. A later one needs a revision.
"""

from importlib import resources
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB

revision = "20261129_tables"
down_revision = None
branch_labels = None
depends_on = None

LAST_CHANGE = "03.04.00_50_post_add_retry_failed_job_procedure.sql"

PHASES = (
    "phase IN ('validate', 'prepare', 'calibrate', 'search', 'race', 'ablate', "
    "'confirm', 'conditions', 'compare', 'done')"
)


def _time(name: str, *, nullable: bool = True, now: bool = False) -> sa.Column[Any]:
    default = sa.text("now()") if now else None
    return sa.Column(name, sa.DateTime(timezone=True), server_default=default, nullable=nullable)


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "hosts",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("fingerprint", JSONB(), nullable=True),
        _time("last_seen", nullable=False),
        sa.Column("worker_id", sa.BigInteger(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        _time("drained_at"),
        sa.Column("calibration", JSONB(), nullable=True),
        _time("calibrated_at"),
        sa.Column("calibrated_with", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_hosts")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("priority", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("spec", JSON(), nullable=False),
        sa.Column("facts", JSONB(), nullable=True),
        sa.Column("calibration", JSONB(), nullable=True),
        sa.Column("finalist", sa.Integer(), nullable=True),
        sa.Column("finish_in", sa.Text(), nullable=True),
        sa.Column("recommendation", JSONB(), nullable=True),
        sa.Column("report", JSONB(), nullable=True),
        sa.Column("failure", JSONB(), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("request_sha256", sa.Text(), nullable=False),
        sa.Column("asked_sha256", sa.Text(), nullable=True),
        sa.Column("submitted_by", sa.Text(), nullable=True),
        sa.Column("submitted_key", sa.Text(), server_default=sa.text("''"), nullable=False),
        _time("created_at", nullable=False, now=True),
        _time("started_at"),
        _time("finished_at"),
        _time("pruned_at"),
        sa.Column("revision", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.CheckConstraint("kind IN ('tune', 'compare', 'calibrate')", name=op.f("ck_jobs_kind")),
        sa.CheckConstraint(PHASES, name=op.f("ck_jobs_phase")),
        sa.CheckConstraint(PHASES.replace("phase", "finish_in", 1), name=op.f("ck_jobs_finish_in")),
        sa.CheckConstraint("priority IN ('interactive', 'nightly')", name=op.f("ck_jobs_priority")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')",
            name=op.f("ck_jobs_state"),
        ),
        sa.CheckConstraint(
            "verdict IN ('better', 'worse', 'breaks_bound', 'no_difference', 'inconclusive', "
            "'depends', 'more_fragile')",
            name=op.f("ck_jobs_verdict"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint(
            "submitted_key", "idempotency_key", name=op.f("uq_jobs_submitted_key_idempotency_key")
        ),
    )
    op.create_index("ix_jobs_app_id", "jobs", ["app", "id"], unique=False)
    op.create_index("ix_jobs_asked", "jobs", ["asked_sha256", "id"], unique=False)
    op.create_index("ix_jobs_kind_state_id", "jobs", ["kind", "state", "id"], unique=False)
    op.create_index(
        "ix_jobs_answered",
        "jobs",
        ["app", "id"],
        unique=False,
        postgresql_where=sa.text("kind = 'tune' AND state = 'succeeded'"),
    )
    op.create_index(
        "ix_jobs_pool_open",
        "jobs",
        ["pool", "id"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_index(
        "uq_jobs_host_running",
        "jobs",
        ["host"],
        unique=True,
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_table(
        "measurements",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("arms", ARRAY(sa.Integer()), nullable=False),
        sa.Column("block_options", JSONB(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("faults", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_fault", sa.Text(), nullable=True),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("worker_id", sa.BigInteger(), nullable=True),
        _time("started_at"),
        _time("finished_at"),
        sa.Column("result", JSONB(), nullable=True),
        sa.Column("failure", JSONB(), nullable=True),
        sa.CheckConstraint("kind IN ('prepare', 'block')", name=op.f("ck_measurements_kind")),
        sa.CheckConstraint(PHASES, name=op.f("ck_measurements_phase")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'complete', 'failed', 'cancelled')",
            name=op.f("ck_measurements_state"),
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_measurements_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_measurements")),
        sa.UniqueConstraint("job_id", "sequence", name=op.f("uq_measurements_job_id_sequence")),
    )
    op.create_index(
        "ix_measurements_host_running",
        "measurements",
        ["host"],
        unique=False,
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index(
        "ix_measurements_open",
        "measurements",
        ["job_id"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_table(
        "trials",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("params", JSONB(), nullable=False),
        sa.Column("params_key", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("outcome", JSONB(), nullable=True),
        sa.Column("score", sa.Float(), nullable=True),
        sa.CheckConstraint(
            "origin IN ('baseline', 'heuristic', 'sampler', "
            "'given', 'earlier', 'ablation', 'minimal')",
            name=op.f("ck_trials_origin"),
        ),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'complete', 'pruned', 'infeasible', 'failed')",
            name=op.f("ck_trials_state"),
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_trials_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_trials")),
        sa.UniqueConstraint("job_id", "params_key", name=op.f("uq_trials_job_id_params_key")),
    )
    op.create_table(
        "windows",
        sa.Column("measurement_id", sa.BigInteger(), nullable=False),
        sa.Column("trial_number", sa.Integer(), nullable=False),
        sa.Column("duration_s", sa.Float(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("latency_p50_ms", sa.Float(), nullable=True),
        sa.Column("latency_p95_ms", sa.Float(), nullable=True),
        sa.Column("latency_p99_ms", sa.Float(), nullable=True),
        sa.Column("body_bytes", sa.BigInteger(), nullable=True),
        sa.Column("stalled", sa.BigInteger(), nullable=False),
        sa.Column("series", ARRAY(sa.BigInteger()), nullable=True),
        sa.Column("histogram", JSONB(), nullable=True),
        sa.Column("by_request", JSONB(), nullable=True),
        _time("started_at", nullable=False),
        sa.Column("sent", sa.BigInteger(), nullable=False),
        sa.Column("errors_by_class", JSONB(), nullable=False),
        sa.Column("listen_overflows", sa.BigInteger(), nullable=False),
        sa.Column("time_wait", sa.BigInteger(), nullable=False),
        sa.Column("over_limit", sa.Float(), nullable=True),
        sa.Column("connect", JSONB(), nullable=True),
        sa.Column("proxy", JSONB(), nullable=True),
        sa.Column("over_time", JSONB(), nullable=True),
        sa.Column("index", sa.BigInteger(), nullable=False),
        sa.Column("arm", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("throughput_rps", sa.Float(), nullable=False),
        sa.Column("memory_mb", sa.Float(), nullable=True),
        sa.Column("served", sa.BigInteger(), nullable=True),
        sa.Column("respawns", sa.BigInteger(), nullable=False),
        sa.Column("client_cpu", sa.Float(), nullable=False),
        sa.Column("target_cpu", sa.Float(), nullable=True),
        sa.Column("throttled", sa.Float(), nullable=True),
        sa.Column("busy", sa.Float(), nullable=True),
        sa.Column("connections", sa.BigInteger(), nullable=False),
        sa.Column("server", JSONB(), nullable=True),
        sa.Column("services", JSONB(), nullable=True),
        sa.Column("surroundings", JSONB(), nullable=True),
        sa.Column("doubts", ARRAY(sa.Text()), nullable=True),
        sa.ForeignKeyConstraint(
            ["measurement_id"],
            ["measurements.id"],
            name=op.f("fk_windows_measurement_id_measurements"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("measurement_id", "index", name=op.f("pk_windows")),
    )
    _create_events()
    _create_totals()
    _create_access()
    _create_queue()


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    of_jobs = ("checks", "links", "windows", "trials", "measurements", "jobs")
    for table in (*of_jobs, "hosts", "events", "totals", "keys", "secrets", "audit"):
        op.drop_table(table)
    op.execute("DROP FUNCTION number_event()")
    _drop_queue()


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("job", sa.BigInteger(), nullable=True),
        sa.Column("pool", sa.Text(), nullable=True),
        sa.Column(
            "numbers",
            ARRAY(sa.Integer()),
            server_default=sa.text("'{}'::integer[]"),
            nullable=False,
        ),
        sa.CheckConstraint(
            "kind IN ('job', 'block', 'trial', 'verdict', 'queue', 'host', 'reset')",
            name=op.f("ck_events_kind"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    # Each row gets its number at its commit, so that the order of numbers is that of commits.
    op.execute(
        """
        CREATE FUNCTION number_event() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock(7804, 0);
            UPDATE events SET id = DEFAULT WHERE id = NEW.id;
            PERFORM pg_notify('tuner_events', '');
            RETURN NULL;
        END $$
        """
    )
    op.execute(
        """
        CREATE CONSTRAINT TRIGGER number_event AFTER INSERT ON events
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION number_event()
        """
    )


def _create_totals() -> None:
    op.create_table(
        "totals",
        sa.Column("counted", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("labels", JSONB(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.CheckConstraint(
            "counted IN ('jobs_started', 'waited_s', 'jobs_ended', 'blocks', 'measured_s', "
            "'load_s', 'windows', 'doubts', 'host_faults')",
            name=op.f("ck_totals_counted"),
        ),
        sa.PrimaryKeyConstraint("counted", "pool", "labels", name=op.f("pk_totals")),
    )


def _create_access() -> None:
    """Links, keys, the audit, and the last word of each checker."""
    op.create_table(
        "links",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("token_sha256", sa.Text(), nullable=False),
        _time("created_at", nullable=False, now=True),
        _time("expires_at"),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_links_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_links")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_links_token_sha256")),
    )
    op.create_index("ix_links_job_id", "links", ["job_id"], unique=False)
    op.create_table(
        "keys",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("apps", ARRAY(sa.Text()), server_default=sa.text("'{}'::text[]"), nullable=False),
        sa.Column(
            "reads", ARRAY(sa.Text()), server_default=sa.text("'{}'::text[]"), nullable=False
        ),
        sa.Column("secret_sha256", sa.Text(), nullable=False),
        _time("created_at", nullable=False, now=True),
        _time("expires_at"),
        sa.CheckConstraint("scope IN ('read', 'submit', 'admin')", name=op.f("ck_keys_scope")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("secret_sha256", name=op.f("uq_keys_secret_sha256")),
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_secrets")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        _time("at", nullable=False, now=True),
        sa.Column("who", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("job", sa.BigInteger(), nullable=True),
        sa.Column("said", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "action IN ('submit', 'cancel', 'finish', 'delete', 'share', 'unshare', 'create_key',"
            " 'revoke_key', 'drain', 'resume', 'sign_in', 'deny', 'check',"
            " 'prune', 'dump', 'restore')",
            name=op.f("ck_audit_action"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_table(
        "checks",
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("checker", sa.Text(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("holds", sa.Boolean(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        _time("at", nullable=False, now=True),
        sa.CheckConstraint("checker IN ('recommend', 'gate')", name=op.f("ck_checks_checker")),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_checks_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("app", "checker", name=op.f("pk_checks")),
    )
    op.create_index("ix_checks_job_id", "checks", ["job_id"], unique=False)


def _create_queue() -> None:
    sql = resources.files("procrastinate.sql")
    newest = max(item.name for item in (sql / "migrations").iterdir() if item.name[:1].isdigit())
    if newest != LAST_CHANGE:
        raise RuntimeError(
            f"the schema of the installed procrastinate ends with {newest}, not {LAST_CHANGE}; "
            "install the versions in uv.lock"
        )
    # The driver's own connection runs many statements at once and does not interpret "%".
    driver_connection = op.get_bind().connection.driver_connection
    assert driver_connection is not None  # noqa: S101  a transaction is open
    driver_connection.execute((sql / "schema.sql").read_text())


def _drop_queue() -> None:
    op.execute(
        "DROP TABLE procrastinate_events, procrastinate_periodic_defers, procrastinate_jobs, "
        "procrastinate_workers CASCADE"
    )
    op.execute(
        """
        DO $$
        DECLARE
            name text;
        BEGIN
            FOR name IN
                SELECT oid::regprocedure FROM pg_proc
                 WHERE proname LIKE 'procrastinate\\_%'
                   AND pronamespace = current_schema()::regnamespace
            LOOP
                EXECUTE 'DROP FUNCTION ' || name || ' CASCADE';
            END LOOP;
        END $$
        """
    )
    op.execute("DROP TYPE procrastinate_job_to_defer_v1")
    op.execute("DROP TYPE procrastinate_job_event_type")
    op.execute("DROP TYPE procrastinate_job_status")
