"""What each job was asked for, as a digest: equal requests have equal ones.

Revision: 20261129_equal_jobs, after 20261128_conditions. Older jobs have none: no request is equal
to theirs.
"""

import sqlalchemy as sa
from alembic import op

revision = "20261129_equal_jobs"
down_revision = "20261128_conditions"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("jobs", sa.Column("asked_sha256", sa.Text(), nullable=True))
    op.create_index("ix_jobs_asked", "jobs", ["asked_sha256", "id"], unique=False)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("jobs", "asked_sha256")
