"""Roles of PostgreSQL for the API and for workers, with no more rights than each needs.

The owner of the tables migrates them, and makes keys. It runs neither the API nor a worker.
"""

import secrets
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import make_url

from tuner.store.db.engine import connect, translated

API, WORKER = "api", "worker"
_ALL = "SELECT, INSERT, UPDATE, DELETE"
_OF_ROLE: Mapping[str, Mapping[str, str]] = {
    API: {
        "keys": "SELECT",
        "secrets": "SELECT, INSERT",
        "audit": "SELECT, INSERT",
        "alembic_version": "SELECT",
    },
    WORKER: {
        "keys": "",
        "secrets": "",
        "links": "",
        "audit": "INSERT",
        "alembic_version": "SELECT",
    },
}
"""What differs from all rights on the rows of a table."""


def make_roles(url: str, prefix: str) -> dict[str, str]:
    """Make the roles `PREFIX_api` and `PREFIX_worker`, or bring their rights up to date.

    The URLs of new ones, with a password that is nowhere else. `url` is that of the owner of the
    tables, who may create roles. Raises `Unavailable`.
    """
    found = {}
    with translated(), connect(url) as connection:
        database = str(conninfo_to_dict(connection.info.dsn).get("dbname"))
        for part, differing in _OF_ROLE.items():
            role = f"{prefix}_{part}"
            if not _exists(connection, role):
                password = secrets.token_urlsafe(24)
                _run(connection, "CREATE ROLE {} LOGIN PASSWORD {}", role, sql.Literal(password))
                found[part] = make_url(url).set(username=role, password=password)
            _grant(connection, database, role, differing)
    return {part: own.render_as_string(hide_password=False) for part, own in found.items()}


def _grant(
    connection: psycopg.Connection[Any], database: str, role: str, differing: Mapping[str, str]
) -> None:
    """Take all rights, then give those of its part; later tables get them by default."""
    _run(connection, "GRANT CONNECT ON DATABASE {} TO {}", database, role)
    _run(connection, "GRANT USAGE ON SCHEMA public TO {}", role)
    for kind, rights in (("TABLES", _ALL), ("SEQUENCES", "USAGE, SELECT")):
        _run(connection, f"REVOKE ALL ON ALL {kind} IN SCHEMA public FROM {{}}", role)
        _run(connection, f"GRANT {rights} ON ALL {kind} IN SCHEMA public TO {{}}", role)
        later = f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT {rights} ON {kind} TO {{}}"
        _run(connection, later, role)
    for table, rights in differing.items():
        _run(connection, "REVOKE ALL ON {} FROM {}", table, role)
        if rights:
            _run(connection, f"GRANT {rights} ON {{}} TO {{}}", table, role)


def _exists(connection: psycopg.Connection[Any], role: str) -> bool:
    found = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role])
    return found.fetchone() is not None


def _run(connection: psycopg.Connection[Any], text: str, *names: str | sql.Literal) -> None:
    """A statement with names, which are quoted."""
    quoted = [name if isinstance(name, sql.Literal) else sql.Identifier(name) for name in names]
    connection.execute(sql.SQL(text).format(*quoted))
