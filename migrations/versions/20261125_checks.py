"""What checks found where apps are deployed.

Revision: 20261125_checks, after 20261125_links.
"""

import sqlalchemy as sa
from alembic import op

revision = "20261125_checks"
down_revision = "20261125_links"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "checks",
        sa.Column("app", sa.Text(), nullable=False),
        sa.Column("checker", sa.Text(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("holds", sa.Boolean(), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.CheckConstraint("checker IN ('recommend', 'gate')", name=op.f("ck_checks_checker")),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_checks_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("app", "checker", name=op.f("pk_checks")),
    )
    op.create_index("ix_checks_job_id", "checks", ["job_id"], unique=False)


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("checks")
