"""A job has a host of its own, and a host can be drained.

Revision: 20261127_job_hosts, after 20261127_key_apps.
"""

import sqlalchemy as sa
from alembic import op

revision = "20261127_job_hosts"
down_revision = "20261127_key_apps"
branch_labels = None
depends_on = None

_IS_RUNNING = sa.text("state = 'running'")
_BEFORE = "'submit', 'cancel', 'delete', 'share', 'unshare', 'create_key', 'revoke_key'"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("jobs", sa.Column("host", sa.Text()))
    op.add_column("hosts", sa.Column("drained_at", sa.DateTime(timezone=True)))
    op.drop_index("uq_jobs_pool_running", "jobs")
    op.create_index(
        "uq_jobs_host_running", "jobs", ["host"], unique=True, postgresql_where=_IS_RUNNING
    )
    _allow(f"{_BEFORE}, 'drain', 'resume'")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("DELETE FROM audit WHERE action IN ('drain', 'resume')")
    _allow(_BEFORE)
    op.drop_index("uq_jobs_host_running", "jobs")
    op.create_index(
        "uq_jobs_pool_running", "jobs", ["pool"], unique=True, postgresql_where=_IS_RUNNING
    )
    op.drop_column("hosts", "drained_at")
    op.drop_column("jobs", "host")


def _allow(actions: str) -> None:
    op.drop_constraint(op.f("ck_audit_action"), "audit")
    op.create_check_constraint(op.f("ck_audit_action"), "audit", f"action IN ({actions})")
