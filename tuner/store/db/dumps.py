"""A database as one file, and back: PostgreSQL's own pg_dump and pg_restore; and Alembic."""

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import Connection, func, select, text

import tuner
from tuner.nouns import wording
from tuner.nouns.errors import Conflict, InvalidInput, Unavailable
from tuner.store.db import binaries
from tuner.store.db.engine import connect, conninfo, make_engine, translated

# ---- A database as one file, and back: PostgreSQL's own pg_dump and pg_restore
#
# A dump is whole or not there. It is restored into a database without jobs, so that it cannot
# destroy any: the operator names a new one.

SCHEMA = "public"
LOCK_TIMEOUT_S = 5
CLOSES_WITHIN_S = 3.0
KEPT = 3
_HALF = ".dump-"

_OTHERS = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_IS_POWERFUL = """
SELECT rolsuper OR pg_has_role(oid, 'pg_execute_server_program', 'USAGE')
    OR pg_has_role(oid, 'pg_write_server_files', 'USAGE')
  FROM pg_roles WHERE rolname = session_user
"""
_EXTENSIONS = """
SELECT string_agg(extname, ', ') FROM pg_extension WHERE extnamespace = to_regnamespace('public')
"""


def dump(url: str, target: Path) -> None:
    """Write the database to `target`, which only its owner may read: it holds secrets.

    Raises `Unavailable` (no pg_dump, it is too old for the server, disk full) or `InvalidInput`.
    """
    _remove_halves(target.parent)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=_HALF)
    except OSError as error:
        raise InvalidInput.at(str(target), f"cannot be written: {error.strerror}") from error
    scratch = Path(name)
    try:
        # Whoever finds the file can see by this lock that we have not ended.
        fcntl.flock(handle, fcntl.LOCK_EX)
        # Of a small database: a fifth of the default level's CPU time, a file 1.4 times as large.
        form = ("--format=custom", "--compress=1")
        options = (*form, f"--schema={SCHEMA}", "--no-owner", "--no-privileges")
        _run("pg_dump", *options, f"--dbname={_address(url)}", f"--file={scratch}", url=url)
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)
        os.close(handle)


def _remove_halves(folder: Path) -> None:
    """Remove what a killed dump has left: it holds secrets."""
    for half in folder.glob(f"{_HALF}*"):
        with suppress(OSError), half.open("rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            half.unlink()


def _before_migration(url: str, folder: Path) -> None:
    """Dump a database that is about to be migrated; keep the newest `KEPT` dumps.

    Raises `InvalidInput` or `Unavailable`: then nothing must be migrated.
    """
    revision = outdated(url)
    if revision is None:
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput.at(str(folder), f"cannot be created: {error.strerror}") from error
    _require_room(url, folder)
    dump(url, folder / f"{revision}.dump")
    newest_first = sorted(folder.glob("*.dump"), key=lambda file: -file.stat().st_mtime)
    for old in newest_first[KEPT:]:
        old.unlink(missing_ok=True)


def _require_room(url: str, folder: Path) -> None:
    """Raise `Unavailable` where a dump may not fit; it is smaller than the database."""
    with translated(), connect(url) as connection:
        size = _value(connection, "SELECT pg_database_size(current_database())")
    if (free := shutil.disk_usage(folder).free) < size:
        detail = (
            f"{free >> 20} MB are left on the disk of {folder}, and the database has {size >> 20}"
            " MB: free some, or set TUNER_DUMP_DIR to another disk"
        )
        raise Unavailable("postgresql", detail)


def restore(url: str, source: Path, *, is_trusted: bool = False) -> None:
    """Fill a database without jobs from a dump, and bring its tables up to date.

    A dump holds code, which runs with the rights of the role that restores it. Raises `Conflict`
    for a superuser, unless the dump `is_trusted`, and where the database has jobs or is in use,
    `InvalidInput` for a file that is no dump, `Unavailable`.
    """
    if not is_trusted:
        _require_few_rights(url)
    fill(url, source)
    upgrade(url)


def _require_few_rights(url: str) -> None:
    with translated(), connect(url) as connection:
        if _value(connection, _IS_POWERFUL):
            raise Conflict(
                "this role is a superuser, or may run programs on the database's server, and so may"
                " code in the dump: restore with an ordinary role, or with --trusted a dump that"
                " you made yourself"
            )


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
    """What it prints. Raises `Unavailable` with its first error, or with its last line."""
    password = conninfo_to_dict(conninfo(url)).get("password") if url else None
    environ = {**os.environ, **({"PGPASSWORD": str(password)} if password else {})}
    command = [str(binaries.find() / program), *options]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["it ended without a reason"]
        said = next((line for line in lines if " error: " in line), lines[-1])
        raise Unavailable("postgresql", f"{program}: {said.removeprefix(f'{program}: ')}")
    return done.stdout


# ---- What a database holds, in a few words: to see that two hold the same

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


# ---- Alembic, called from code: the same migrations in a checkout and in an installed wheel

_MIGRATION_LOCK = 7_802  # one process at a time: `serve`, workers and CI may start together


def scripts() -> Path:
    """The folder of the migrations: in the wheel, else at the top of the checkout."""
    package = Path(tuner.__file__).parent
    for folder in (package / "_data" / "migrations", package.parent / "migrations"):
        if (folder / "env.py").is_file():
            return folder
    raise Unavailable("postgresql", f"the migrations are missing from this installation: {package}")


def upgrade(url: str, revision: str = "head", dump_into: Path | None = None) -> None:
    """Bring the database to `revision`, after a dump into a folder; one process at a time.

    Raises `Unavailable`, and `InvalidInput` where no dump can be written: then nothing is changed.
    """
    try:
        before = (lambda: _before_migration(url, dump_into)) if dump_into else None
        _alembic(url, command.upgrade, revision, before=before)
    except CommandError as error:
        advice = "make a new database, as CHANGELOG.md says, or install that version"
        raise Unavailable(
            "postgresql", f"another version of tuner created the tables ({error}); {advice}"
        ) from error


def outdated(url: str) -> str | None:
    """The revision of the database if it is not the newest; None also for one without tables."""
    newest = ScriptDirectory.from_config(_config()).get_current_head()
    engine = make_engine(url)
    try:
        with translated(), engine.connect() as connection:
            found = MigrationContext.configure(connection).get_current_revision()
    finally:
        engine.dispose()
    return found if found != newest else None


def downgrade(url: str, revision: str) -> None:
    """Bring the database back to `revision` and drop later tables. Raises `Unavailable`."""
    _alembic(url, command.downgrade, revision)


def check(url: str) -> None:
    """Raise Alembic's `AutogenerateDiffsDetected` if `tuner.store.db.tables` differs."""
    _alembic(url, command.check)


def _alembic(
    url: str, action: Any, *arguments: str, before: Callable[[], None] | None = None
) -> None:
    engine = make_engine(url)
    try:
        with translated(), engine.connect() as connection:
            _wait_for_others(connection)
            if before is not None:
                before()
            config = _config()
            config.attributes["connection"] = connection
            action(config, *arguments)
            connection.commit()
    finally:
        engine.dispose()  # this also frees the lock


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(scripts()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _wait_for_others(connection: Connection) -> None:
    connection.execute(text("SET statement_timeout = 0"))
    connection.execute(select(func.pg_advisory_lock(_MIGRATION_LOCK)))
    connection.commit()
