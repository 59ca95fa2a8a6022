"""How Alembic reaches the database: on the connection of `tuner.db.migrate`, or by its own CLI.

`TUNER_DATABASE_URL=... alembic revision --autogenerate -m "..."` is for who changes the tables.
"""

import os

from alembic import context
from sqlalchemy import Connection
from sqlalchemy.sql.schema import SchemaItem

from tuner.db.engine import make_engine
from tuner.db.tables import metadata


def ours(
    _: SchemaItem, name: str | None, kind: str, reflected: bool, compare_to: SchemaItem | None
) -> bool:
    """The queue's tables have a revision of their own, and no place in our metadata."""
    return not (kind == "table" and (name or "").startswith("procrastinate_"))


def migrate(connection: Connection) -> None:
    """Run whatever Alembic was asked for, all of it in one transaction."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_object=ours,
        compare_server_default=True,
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
