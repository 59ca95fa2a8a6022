"""Alembic's way to the database: the connection of `tuner.store.db.dumps`, or its own CLI.

To change the tables, run `TUNER_DATABASE_URL=... alembic revision --autogenerate -m "..."`.
"""

import os

from alembic import context
from sqlalchemy import Connection
from sqlalchemy.sql.schema import SchemaItem

from tuner.store.db.engine import make_engine
from tuner.store.db.tables import metadata


def ours(
    _: SchemaItem, name: str | None, kind: str, reflected: bool, compare_to: SchemaItem | None
) -> bool:
    """The queue's tables come from procrastinate and are not in our metadata."""
    return not (kind == "table" and (name or "").startswith("procrastinate_"))


def migrate(connection: Connection) -> None:
    """Run Alembic's command; each migration has a transaction of its own.

    So one that builds an index beside a running service may leave its own:
    `with op.get_context().autocommit_block(): op.create_index(..., postgresql_concurrently=True)`.
    """
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_object=ours,
        compare_server_default=True,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    engine = make_engine(os.environ["TUNER_DATABASE_URL"])
    with engine.connect() as own:
        migrate(own)
        own.commit()
    engine.dispose()
