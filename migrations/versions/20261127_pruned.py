"""When the windows of a job were removed.

Revision: 20261127_pruned, after 20261125_checks.
"""

import sqlalchemy as sa
from alembic import op

revision = "20261127_pruned"
down_revision = "20261125_checks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("jobs", sa.Column("pruned_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("jobs", "pruned_at")
