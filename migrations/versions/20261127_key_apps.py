"""Keys that may change certain apps only.

Revision: 20261127_key_apps, after 20261127_priority.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "20261127_key_apps"
down_revision = "20261127_priority"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    none = sa.text("'{}'::text[]")
    op.add_column("keys", sa.Column("apps", ARRAY(sa.Text()), server_default=none, nullable=False))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_column("keys", "apps")
