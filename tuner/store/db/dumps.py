"""A database as one file, and back: PostgreSQL's own pg_dump and pg_restore.

A dump is whole or not there. It is restored into a database without jobs, so that it cannot
destroy any: the operator names a new one.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tuner.nouns import wording
from tuner.nouns.errors import Conflict, InvalidInput, Unavailable
from tuner.store.db import binaries, migrate
from tuner.store.db.engine import connect, conninfo, translated

SCHEMA = "public"
LOCK_TIMEOUT_S = 5
CLOSES_WITHIN_S = 3.0
KEPT = 3

_OTHERS = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_EXTENSIONS = """
SELECT string_agg(extname, ', ') FROM pg_extension WHERE extnamespace = to_regnamespace('public')
"""


def dump(url: str, target: Path) -> None:
    """Write the database to `target`, which only its owner may read: it holds secrets.

    Raises `Unavailable` (no pg_dump, it is too old for the server, disk full) or `InvalidInput`.
    """
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".dump-")
    except OSError as error:
        raise InvalidInput.at(str(target), f"cannot be written: {error.strerror}") from error
    os.close(handle)
    scratch = Path(name)
    try:
        # Of a small database: a fifth of the default level's CPU time, a file 1.4 times as large.
        form = ("--format=custom", "--compress=1")
        options = (*form, f"--schema={SCHEMA}", "--no-owner", "--no-privileges")
        _run("pg_dump", *options, f"--dbname={_address(url)}", f"--file={scratch}", url=url)
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


def before_migration(url: str, folder: Path) -> None:
    """Dump a database that is about to be migrated; keep the newest `KEPT` dumps.

    Raises `InvalidInput` or `Unavailable`: then nothing must be migrated.
    """
    revision = migrate.outdated(url)
    if revision is None:
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput.at(str(folder), f"cannot be created: {error.strerror}") from error
    dump(url, folder / f"{revision}.dump")
    newest_first = sorted(folder.glob("*.dump"), key=lambda file: -file.stat().st_mtime)
    for old in newest_first[KEPT:]:
        old.unlink(missing_ok=True)


def restore(url: str, source: Path) -> None:
    """Fill a database without jobs from a dump, and bring its tables up to date.

    Raises `Conflict` where the database has jobs or is in use, `InvalidInput` for a file that is no
    dump, `Unavailable`.
    """
    fill(url, source)
    migrate.upgrade(url)


def fill(url: str, source: Path) -> None:
    """Fill a database without jobs from a dump, and leave its tables as they were dumped.

    Raises as `restore` does.
    """
    _require_dump(source)
    with translated(), connect(url) as connection:
        _require_unused(connection)
        connection.execute(f"SET lock_timeout = '{LOCK_TIMEOUT_S}s'")
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    # The dump makes the schema. One transaction: a dump that breaks off leaves nothing behind.
    options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
    _run("pg_restore", *options, f"--dbname={_address(url)}", str(source), url=url)
    with translated(), connect(url) as connection:
        # A dump has no statistics. Without them the windows of one job were not found within 10 s.
        connection.execute("SET statement_timeout = 0")
        connection.execute("ANALYZE")


def _require_dump(source: Path) -> None:
    if not source.is_file():
        raise InvalidInput.at(str(source), "there is no such file")
    try:
        contents = _run("pg_restore", "--list", str(source))
    except Unavailable as error:
        raise InvalidInput.at(str(source), f"is no dump: {error.detail}") from error
    if f"TABLE DATA {SCHEMA} jobs " not in contents:
        raise InvalidInput.at(str(source), "is a dump of another program")


def _require_unused(connection: psycopg.Connection[Any]) -> None:
    advice = "restore into a new one: set another TUNER_DATA_DIR or TUNER_DATABASE_URL"
    has_tables = _value(connection, "SELECT to_regclass('public.jobs') IS NOT NULL")
    if has_tables and _value(connection, "SELECT EXISTS (SELECT FROM public.jobs)"):
        raise Conflict(f"this database has jobs already; {advice}")
    deadline = time.monotonic() + CLOSES_WITHIN_S
    while (others := _value(connection, _OTHERS)) > 0 and time.monotonic() < deadline:
        time.sleep(0.1)  # the server notices late that a client has ended
    if others > 0:
        users = wording.count(others, "other connection")
        raise Conflict(f"{users} to this database: stop the service first")
    if extensions := _value(connection, _EXTENSIONS):
        raise Conflict(f"the schema {SCHEMA} holds the extensions {extensions}; {advice}")


def _value(connection: psycopg.Connection[Any], query: LiteralString) -> Any:
    row = connection.execute(query).fetchone()
    return row[0] if row else None


def _address(url: str) -> str:
    """Without the password: other users can read a command line."""
    return make_conninfo("", **{**conninfo_to_dict(conninfo(url)), "password": None})


def _run(program: str, *options: str, url: str | None = None) -> str:
    """What it prints. Raises `Unavailable` with the last line of its errors."""
    password = conninfo_to_dict(conninfo(url)).get("password") if url else None
    environ = {**os.environ, **({"PGPASSWORD": str(password)} if password else {})}
    command = [str(binaries.find() / program), *options]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["it ended without a reason"]
        raise Unavailable("postgresql", f"{program}: {said[-1]}")
    return done.stdout
