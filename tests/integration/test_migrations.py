"""The migration creates the tables that the code declares, and can be undone."""

import threading
from collections.abc import Collection, Mapping

import psycopg
import pytest
from sqlalchemy import CheckConstraint

from tuner.nouns.errors import Unavailable
from tuner.store.db import Store, dumps, make_engine
from tuner.store.db.tables import metadata
from tuner.store.queue import Queue

NEWEST = "20261129_tables"


def relations(
    url: str, *, but: Collection[str] = ("alembic_version", "alembic_version_pkc")
) -> set[str]:
    query = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    with psycopg.connect(url) as connection:
        return {row[0] for row in connection.execute(query)} - set(but)


def current(url: str) -> str | None:
    """The revision of the database; None for an empty one."""
    if "alembic_version" not in relations(url, but=()):
        return None
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return row[0] if row else None


def checks(url: str) -> Mapping[str, str]:
    query = (
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE contype = 'c' AND conname LIKE 'ck_%'"
    )
    with psycopg.connect(url) as connection:
        return {name: text for name, text in connection.execute(query).fetchall()}


def test_the_tables_are_the_ones_that_the_code_describes(database_url: str) -> None:
    dumps.check(database_url)


def test_every_enum_is_held_by_its_check(database_url: str) -> None:
    """Alembic does not compare CHECK constraints, so this does, value by value."""
    found = checks(database_url)
    for table in metadata.sorted_tables:
        for constraint in table.constraints:
            if isinstance(constraint, CheckConstraint):
                values = str(constraint.sqltext).partition(" IN ")[2].strip("()").split(", ")
                text = found[str(constraint.name)]
                assert text.count("'::text") == len(values), constraint.name
                assert all(value in text for value in values), constraint.name


def test_up_down_and_up_again(empty_database_url: str) -> None:
    url = empty_database_url
    assert current(url) is None
    dumps.upgrade(url)
    assert current(url) == NEWEST
    both_ways = relations(url)
    dumps.downgrade(url, "base")
    assert relations(url) == set()
    dumps.upgrade(url)
    assert relations(url) == both_ways
    dumps.check(url)


def test_upgrading_twice_at_the_same_time(empty_database_url: str) -> None:
    failures: list[Exception] = []

    def upgrade() -> None:
        try:
            dumps.upgrade(empty_database_url)
        except Exception as error:  # noqa: BLE001  handed to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=upgrade) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert current(empty_database_url) == NEWEST


def test_the_tables_of_another_version_say_what_to_do(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '20261121_search'")
    with pytest.raises(Unavailable, match=r"20261121_search.*make a new database"):
        dumps.upgrade(database_url)


def test_a_database_without_tables_says_what_to_do(empty_database_url: str) -> None:
    engine = make_engine(empty_database_url)
    with pytest.raises(Unavailable, match="run `tuner db upgrade`"):
        Store(engine, Queue()).ping()
    engine.dispose()
