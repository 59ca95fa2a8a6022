"""Events: what has changed, numbered in the order of commits.

Revision: 20261125_events, after 20261123_tables.

The numbers of a sequence commit out of order: number 8 may be visible before number 7, and a reader
that goes on after 8 would miss 7. So the trigger gives each row its final number at the end of the
transaction, under a lock that PostgreSQL frees after the commit is visible. Then whoever sees a
number sees all smaller ones, now or never. All of this happens within COMMIT, in the server: a
client that hangs in a transaction does not hold the lock, and nothing is locked after it. NOTIFY,
which wakes the readers, would make commits wait for each other in any case.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "20261125_events"
down_revision = "20261123_tables"
branch_labels = None
depends_on = None

KINDS = "kind IN ('job', 'block', 'trial', 'verdict', 'queue', 'host', 'reset')"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
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
        sa.CheckConstraint(KINDS, name=op.f("ck_events_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
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


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.drop_table("events")
    op.execute("DROP FUNCTION number_event()")
