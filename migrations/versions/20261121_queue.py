"""The queue's own tables and functions, as procrastinate ships them.

procrastinate names each change of its schema by a file; `LAST_CHANGE` is the newest one that
`schema.sql` held when this was written (3.10.0). A later one needs a revision that applies it.
"""

from importlib import resources

from alembic import op

revision = "20261121_queue"
down_revision = "20261121_tables"
branch_labels = None
depends_on = None

LAST_CHANGE = "03.04.00_50_post_add_retry_failed_job_procedure.sql"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    sql = resources.files("procrastinate.sql")
    newest = max(item.name for item in (sql / "migrations").iterdir() if item.name[:1].isdigit())
    if newest != LAST_CHANGE:
        raise RuntimeError(
            f"the installed procrastinate is newer than this program: its schema ends with "
            f"{newest}, not {LAST_CHANGE}; install the versions that uv.lock names"
        )
    # The driver's own connection takes many statements at once, and leaves their % alone.
    driver_connection = op.get_bind().connection.driver_connection
    assert driver_connection is not None  # noqa: S101  it is in the middle of a transaction
    driver_connection.execute((sql / "schema.sql").read_text())


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        "DROP TABLE procrastinate_events, procrastinate_periodic_defers, procrastinate_jobs, "
        "procrastinate_workers CASCADE"
    )
    op.execute(
        """
        DO $$
        DECLARE
            name text;
        BEGIN
            FOR name IN
                SELECT oid::regprocedure FROM pg_proc
                 WHERE proname LIKE 'procrastinate\\_%'
                   AND pronamespace = current_schema()::regnamespace
            LOOP
                EXECUTE 'DROP FUNCTION ' || name || ' CASCADE';
            END LOOP;
        END $$
        """
    )
    op.execute("DROP TYPE procrastinate_job_to_defer_v1")
    op.execute("DROP TYPE procrastinate_job_event_type")
    op.execute("DROP TYPE procrastinate_job_status")
