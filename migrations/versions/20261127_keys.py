"""Keys, the audit of what callers have changed, and who submitted a job.

Revision: 20261127_keys, after 20261127_pruned.
"""

import sqlalchemy as sa
from alembic import op

revision = "20261127_keys"
down_revision = "20261127_pruned"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("jobs", sa.Column("submitted_by", sa.Text(), nullable=True))
    op.create_table(
        "keys",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("secret_sha256", sa.Text(), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("scope IN ('read', 'submit', 'admin')", name=op.f("ck_keys_scope")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("secret_sha256", name=op.f("uq_keys_secret_sha256")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column(
            "at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("who", sa.Text(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("job", sa.BigInteger(), nullable=True),
        sa.Column("said", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "action IN ('submit', 'cancel', 'delete', 'share', 'unshare', 'create_key',"
            " 'revoke_key')",
            name=op.f("ck_audit_action"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("audit")
    op.drop_table("keys")
    op.drop_column("jobs", "submitted_by")
