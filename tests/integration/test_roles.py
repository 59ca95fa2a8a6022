"""`tuner db roles`: the API and a worker do all their work, and can do nothing else."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from tests import builders, finished_jobs
from tests.postgres import as_superuser
from tests.unit.cli.conftest import run
from tuner.nouns.model import Action, Checker, NewCheck, Scope
from tuner.store.db import Store, dumps, make_engine
from tuner.store.queue import Queue

PREFIX = "test_roles"


@pytest.fixture
def urls(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[dict[str, str]]:
    """Those that the command prints, by part."""
    owner = as_superuser(database_url)
    monkeypatch.setenv("TUNER_DATABASE_URL", owner)
    assert run("db", "roles", "--prefix", PREFIX) == 0
    printed = capsys.readouterr().out
    yield dict(re.findall(r"for the (\w+): TUNER_DATABASE_URL=(\S+)", printed))
    with psycopg.connect(owner, autocommit=True) as connection:
        for part in ("api", "worker"):
            connection.execute(f"DROP OWNED BY {PREFIX}_{part}".encode())
            connection.execute(f"DROP ROLE {PREFIX}_{part}".encode())


@contextmanager
def store_on(url: str) -> Iterator[Store]:
    store = Store(make_engine(url), Queue())
    yield store
    store.close()


def denied(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection, pytest.raises(InsufficientPrivilege):
        connection.execute(statement.encode())


def test_the_api_does_its_work_and_changes_neither_tables_nor_keys_nor_the_audit(
    urls: dict[str, str], database_url: str
) -> None:
    with store_on(as_superuser(database_url)) as owner:
        key = owner.create_key("ci", Scope.READ, "secret", None, by="operator")
    asked: Any = {"idempotency_key": "k", "request_sha256": "s", "by": "ci"}
    with store_on(urls["api"]) as store:
        assert store.key_of("secret") == key
        assert store.cookie_secret() == store.cookie_secret()
        made, _ = store.create_job(builders.spec(), **asked)
        store.share(made.job.id, "token", None, by="ci")
        store.cancel(made.job.id, by="ci")
        store.delete_job(made.job.id, by="ci")
        answered = finished_jobs.stored(store, finished_jobs.recommendation(), app="checkout")
        check = NewCheck(checker=Checker.GATE, job=answered, holds=True)
        store.report_check("checkout", check, by="ci")
        assert [entry.action for entry in store.audit(None, 2)] == [Action.CHECK, Action.SUBMIT]
    dumps.upgrade(urls["api"])  # at its start: there is nothing to do
    for statement in (
        "ALTER TABLE jobs ADD COLUMN more int",
        "CREATE TABLE another (a int)",
        "DROP TABLE windows",
        "DELETE FROM audit",
        "UPDATE audit SET who = 'somebody else'",
        "INSERT INTO keys (name, scope, secret_sha256) VALUES ('a', 'admin', 'b')",
        "UPDATE keys SET scope = 'admin'",
    ):
        denied(urls["api"], statement)


def test_a_worker_does_its_work_and_reads_no_key(urls: dict[str, str]) -> None:
    with store_on(urls["api"]) as store:
        made, _ = store.create_job(builders.spec(), idempotency_key=None, request_sha256="")
    with store_on(urls["worker"]) as store:
        finished_jobs.measured(store, made.job.id, blocks=3)
        assert len(store.measurements(made.job.id)) > 0
        store.write_audit("bench-1", Action.PRUNE, "windows")
    for statement in (
        "SELECT * FROM keys",
        "SELECT * FROM secrets",
        "SELECT * FROM links",
        "SELECT * FROM audit",
        "ALTER TABLE jobs ADD COLUMN more int",
    ):
        denied(urls["worker"], statement)


def test_later_tables_are_theirs_too(
    urls: dict[str, str], database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(as_superuser(database_url), autocommit=True) as connection:
        connection.execute("CREATE TABLE later (a int)")
    for url in urls.values():
        with psycopg.connect(url) as connection:
            connection.execute("INSERT INTO later VALUES (1)")
    assert run("db", "roles", "--prefix", PREFIX) == 0
    assert "their rights are up to date" in capsys.readouterr().err
    denied(urls["worker"], "SELECT * FROM keys")
