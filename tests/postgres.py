"""One real PostgreSQL for a whole test run, and a fresh, migrated database for each test.

The server is the embedded one; it ends with the test process, whatever happens to it.
"""

import atexit
import functools
import itertools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tuner.store.db import EmbeddedPostgres, Store, dumps, make_engine
from tuner.store.db.server import SERVICE, USER
from tuner.store.queue import Queue

_TEMPLATE = "migrated"
_numbers = itertools.count(1)


@functools.cache
def server() -> EmbeddedPostgres:
    """The server of this test run; nothing it writes has to survive a power cut."""
    folder = Path(tempfile.mkdtemp(prefix="tuner-tests-"))
    folder.chmod(0o711)  # as root, the server runs as another user
    postgres = EmbeddedPostgres(
        folder, settings={"fsync": "off", "full_page_writes": "off", "max_connections": "200"}
    )
    postgres.start()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(postgres.stop)
    _admin(postgres.admin_url, f"CREATE DATABASE {_TEMPLATE} OWNER {SERVICE}")
    dumps.upgrade(_on(postgres.url, _TEMPLATE))
    return postgres


def _on(url: str, database: str) -> str:
    return url.replace("/tuner?", f"/{database}?", 1)


@contextmanager
def fresh_database(template: str = _TEMPLATE) -> Iterator[str]:
    """The URL of a database that nobody has used; it is dropped afterwards."""
    url, admin_url = server().url, server().admin_url
    name = f"test_{next(_numbers)}"
    _admin(admin_url, f"CREATE DATABASE {name} TEMPLATE {template} OWNER {SERVICE}")
    try:
        yield _on(url, name)
    finally:
        _admin(admin_url, f"DROP DATABASE {name} WITH (FORCE)")


def as_superuser(url: str) -> str:
    """The URL of the same database of an embedded server for what its service may not do."""
    return url.replace(f"//{SERVICE}@", f"//{USER}@", 1)


@pytest.fixture
def database_url() -> Iterator[str]:
    """A migrated database."""
    with fresh_database() as url:
        yield url


@pytest.fixture
def empty_database_url() -> Iterator[str]:
    """A database without any table."""
    with fresh_database("template0") as url:
        yield url


@pytest.fixture
def postgres_store(database_url: str) -> Iterator[Store]:
    """The real store on a database of its own."""
    engine = make_engine(database_url)
    yield Store(engine, Queue())
    engine.dispose()


def _admin(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())
