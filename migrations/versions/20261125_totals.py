"""Totals over all jobs, for the metrics; they start as the sums of the rows that are there.

Revision: 20261125_totals, after 20261125_events.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "20261125_totals"
down_revision = "20261125_events"
branch_labels = None
depends_on = None

ENDED = """
FROM measurements JOIN jobs ON jobs.id = measurements.job_id
WHERE measurements.state IN ('complete', 'failed')
"""
FOUND = """
FROM windows
JOIN measurements ON measurements.id = windows.measurement_id
JOIN jobs ON jobs.id = measurements.job_id
"""
SUMS = (
    """
    'jobs_ended', pool, jsonb_build_object(
        'kind', kind, 'state', state, 'verdict', coalesce(verdict, 'none')
    ), count(*)
    FROM jobs WHERE state IN ('succeeded', 'failed', 'cancelled')
    """,
    "'jobs_started', pool, '{}'::jsonb, count(*) FROM jobs WHERE started_at IS NOT NULL",
    """
    'waited_s', pool, '{}'::jsonb, sum(extract(epoch FROM started_at - created_at))
    FROM jobs WHERE started_at IS NOT NULL
    """,
    f"""
    'blocks', pool, jsonb_build_object(
        'phase', measurements.phase, 'state', measurements.state
    ), count(*)
    {ENDED} AND measurements.kind = 'block'
    """,
    f"""
    'measured_s', pool, '{{}}'::jsonb,
    sum(extract(epoch FROM measurements.finished_at - measurements.started_at)) {ENDED}
    """,
    f"'load_s', pool, '{{}}'::jsonb, sum(coalesce((result ->> 'load_s')::float, 0)) {ENDED}",
    f"'windows', pool, '{{}}'::jsonb, count(*) {FOUND}",
    f"""
    'doubts', pool, jsonb_build_object('doubt', doubt), count(*)
    {FOUND}, unnest(doubts) AS doubt
    """,
    """
    'host_faults', pool, '{}'::jsonb, sum(faults)
    FROM measurements JOIN jobs ON jobs.id = job_id WHERE faults > 0
    """,
)
"""What is counted, the pool, the labels, the value; and of which rows."""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
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
    for sums in SUMS:
        op.execute(f"INSERT INTO totals (counted, pool, labels, value) SELECT {sums} GROUP BY 2, 3")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("totals")
