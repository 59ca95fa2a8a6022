"""Nightly jobs wait for interactive ones.

Revision: 20261127_priority, after 20261127_keys.
"""

import sqlalchemy as sa
from alembic import op

revision = "20261127_priority"
down_revision = "20261127_keys"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    kept = sa.Column("priority", sa.Text(), server_default="interactive", nullable=False)
    op.add_column("jobs", kept)
    op.alter_column("jobs", "priority", server_default=None)
    op.create_check_constraint(
        op.f("ck_jobs_priority"), "jobs", "priority IN ('interactive', 'nightly')"
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("jobs", "priority")
