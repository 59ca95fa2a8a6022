"""What a database holds, in a few words: to see that two hold the same."""

from collections.abc import Mapping

from psycopg import sql

from tuner.nouns.errors import Unavailable
from tuner.store.db.dumps import SCHEMA
from tuner.store.db.engine import connect, translated

_AS_TEXT = "SET datestyle = ISO; SET intervalstyle = postgres; SET bytea_output = hex"
_TABLES = """
SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'p')
"""
_SEQUENCES = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = %s"
# A sum, because the order of rows may differ. Of MD5, because PostgreSQL's own hashes may change
# with a major version.
_DIGEST = """
SELECT count(*), coalesce(sum(('x' || left(md5(whole::text), 16))::bit(64)::bigint::numeric), 0)
  FROM {table} AS whole
"""


def of(url: str) -> Mapping[str, str]:
    """Each table with its rows and their digest, each sequence with its number, as text.

    It reads every row. Raises `Unavailable`.
    """
    found = {}
    with translated(), connect(url) as connection:
        connection.execute("SET statement_timeout = 0")
        connection.execute(_AS_TEXT)
        for (name,) in connection.execute(_TABLES, [SCHEMA]).fetchall():
            query = sql.SQL(_DIGEST).format(table=sql.Identifier(SCHEMA, name))
            rows, digest = connection.execute(query).fetchall()[0]
            found[name] = f"{rows} rows, digest {digest}"
        for name, number in connection.execute(_SEQUENCES, [SCHEMA]).fetchall():
            found[name] = f"number {number}"
    return found


def require_equal(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise `Unavailable` that names the first table or sequence that differs."""
    for name in sorted({*before, *after}):
        was, now = before.get(name, "not there"), after.get(name, "not there")
        if was != now:
            raise Unavailable("postgresql", f"{name} would change: before {was}; after {now}")
