"""Indexes for a database with the jobs of years: rare kinds and states, answers, open measurements.

Revision: 20261127_years, after 20261127_job_hosts.
"""

import sqlalchemy as sa
from alembic import op

revision = "20261127_years"
down_revision = "20261127_job_hosts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_index("ix_jobs_kind_state_id", "jobs", ["kind", "state", "id"], unique=False)
    op.create_index(
        "ix_jobs_answered",
        "jobs",
        ["app", "id"],
        unique=False,
        postgresql_where=sa.text("kind = 'tune' AND state = 'succeeded'"),
    )
    op.create_index(
        "ix_measurements_open",
        "measurements",
        ["job_id"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_index("ix_measurements_open", table_name="measurements")
    op.drop_index("ix_jobs_answered", table_name="jobs")
    op.drop_index("ix_jobs_kind_state_id", table_name="jobs")
