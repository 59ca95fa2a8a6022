"""Keys and the audit, in the store in PostgreSQL and in the one in memory."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from tests import builders
from tests.postgres import fresh_database
from tests.stores import AnyStore
from tests.unit.cli.conftest import run
from tuner.nouns.errors import Conflict, LimitReached, NotFound
from tuner.nouns.model import Action, JobId, Scope
from tuner.store.db import Store, make_engine
from tuner.store.db.tables import keys
from tuner.store.queue import Queue

OPERATOR = "root (tuner keys)"


def test_a_key_opens_until_it_is_revoked_and_two_may_share_a_name(store: AnyStore) -> None:
    first = store.create_key("shop", Scope.SUBMIT, "one", None, by=OPERATOR)
    second = store.create_key("shop", Scope.READ, "two", None, by=OPERATOR)
    assert (store.key_of("one"), store.key_of("two")) == (first, second)
    assert (store.key(first.id), store.keys()) == (first, [first, second])
    assert store.key_of("three") is None
    assert store.revoke_key(first.id, by=OPERATOR) == first
    assert (store.key_of("one"), store.key(first.id)) == (None, None)
    assert store.key_of("two") == second
    with pytest.raises(NotFound, match=f"no key {first.id}"):
        store.revoke_key(first.id, by=OPERATOR)
    assert store.create_key("new", Scope.READ, "one", None, by=OPERATOR).id > second.id


def test_a_key_keeps_its_apps_and_the_audit_names_them(store: AnyStore) -> None:
    made = store.create_key("shop", Scope.SUBMIT, "one", None, by=OPERATOR, apps=("shop*", "till"))
    assert made.apps == ("shop*", "till")
    assert store.key_of("one") == made
    (entry,) = store.audit(None, 10)
    assert entry.said == f"key {made.id}, shop, submit for shop*, till"
    job = store.create_job(builders.spec(), idempotency_key=None, request_sha256="")[0].job
    assert store.app_of(job.id) == builders.spec().app
    with pytest.raises(NotFound, match="no job 99"):
        store.app_of(JobId(99))


def test_a_key_whose_time_is_over_opens_nothing_and_is_listed(store: AnyStore) -> None:
    now = datetime.now(UTC)
    over = store.create_key("old", Scope.ADMIN, "old", now - timedelta(seconds=1), by=OPERATOR)
    lasting = store.create_key("new", Scope.ADMIN, "new", now + timedelta(days=1), by=OPERATOR)
    assert (store.key_of("old"), store.key(over.id)) == (None, None)
    assert store.key_of("new") == lasting
    assert store.keys() == [over, lasting]


def test_the_audit_has_every_change_with_who_made_it(store: AnyStore) -> None:
    key = store.create_key("shop", Scope.ADMIN, "secret", None, by=OPERATOR)
    request: Any = {"idempotency_key": "k", "request_sha256": ""}
    job = store.create_job(builders.spec(), **request, by="shop")[0].job
    store.create_job(builders.spec(), **request, by="another")  # no new job
    link = store.share(job.id, "token", None, by="shop")
    store.unshare(job.id, link.id, by="ada (shop)")
    store.cancel(job.id, by="shop")
    store.cancel(job.id, by="shop")  # changes nothing
    store.delete_job(job.id, by=None)
    store.revoke_key(key.id, by=OPERATOR)
    newest_first = store.audit(None, 50)
    found = [(e.who, e.action, e.job, e.said) for e in reversed(newest_first)]
    app = job.spec.app
    assert found == [
        (OPERATOR, Action.CREATE_KEY, None, "key 1, shop, admin"),
        ("shop", Action.SUBMIT, job.id, app),
        ("shop", Action.SHARE, job.id, ""),
        ("ada (shop)", Action.UNSHARE, job.id, f"link {link.id}"),
        ("shop", Action.CANCEL, job.id, ""),
        (None, Action.DELETE, job.id, app),
        (OPERATOR, Action.REVOKE_KEY, None, "key 1, shop"),
    ]
    assert "secret" not in str(newest_first)
    page = store.audit(newest_first[2].id, 2)
    assert page == newest_first[3:5]


def test_a_job_says_who_submitted_it(store: AnyStore) -> None:
    request: Any = {"idempotency_key": None, "request_sha256": ""}
    job_id = store.create_job(builders.spec(), **request, by="shop")[0].job.id
    assert store.job(job_id).submitted_by == "shop"
    assert [job.submitted_by for job in store.jobs()] == ["shop"]


def test_a_key_may_have_so_many_jobs_that_wait(store: AnyStore) -> None:
    def submit(by_key: str, key: str | None = None, by: str | None = None) -> int:
        made = store.create_job(
            builders.spec(),
            idempotency_key=key,
            request_sha256="",
            by=by or by_key,
            by_key=by_key,
            most_waiting=2,
        )
        return made[0].job.id

    first, _ = submit("shop", "k"), submit("shop")
    assert submit("shop", "k") == first  # no new job
    with pytest.raises(LimitReached, match="shop has 2 jobs that wait"):
        submit("shop", "another")
    with pytest.raises(LimitReached):
        submit("shop", by="Ann (shop)")  # who signs in under another name has the same key
    assert submit("") > first
    assert submit("cart") > first
    store.cancel(JobId(first))
    assert submit("shop", "another") > first
    with pytest.raises(LimitReached):
        submit("shop")
    assert len(store.jobs()) == 5


def test_idempotency_keys_are_of_one_api_key(store: AnyStore) -> None:
    def submit(by_key: str, sha256: str) -> tuple[int, bool]:
        made, is_new = store.create_job(
            builders.spec(), idempotency_key="nightly", request_sha256=sha256, by_key=by_key
        )
        return made.job.id, is_new

    first, _ = submit("shop", "s")
    assert submit("shop", "s") == (first, False)
    other, is_new = submit("cart", "another request")
    assert is_new
    assert other > first
    with pytest.raises(Conflict, match="nightly"):
        submit("shop", "another request")


@pytest.fixture
def database_url() -> Iterator[str]:
    with fresh_database() as url:
        yield url


@pytest.mark.real
def test_the_commands_make_list_and_revoke_keys(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TUNER_DATABASE_URL", database_url)
    assert run("keys", "list") == 0
    assert "no keys but TUNER_API_KEY" in capsys.readouterr().out
    assert run("keys", "create", "shop", "--scope", "read", "--lasts", "90d") == 0
    made = capsys.readouterr()
    secret = made.out.strip()
    assert re.fullmatch(r"[\w-]{43}", secret)  # 256 bits
    assert "key 1: shop, read" in made.err
    engine = make_engine(database_url)
    kept = Store(engine, Queue()).key_of(secret)
    assert kept is not None
    assert kept.expires_at is not None
    assert timedelta(days=89) < kept.expires_at - datetime.now(UTC) < timedelta(days=91)
    with engine.connect() as connection:
        (row,) = connection.execute(select(keys)).all()
        assert secret not in str(row)
        entries = connection.execute(text("SELECT audit::text FROM audit")).scalars().all()
        assert secret not in str(entries)
    engine.dispose()
    assert run("keys", "create", "ci", "--app", "shop*", "--app", "till") == 0
    assert "key 2: ci, submit for shop*, till, made" in capsys.readouterr().err
    assert run("keys", "list", "--json") == 0
    assert [key["name"] for key in json.loads(capsys.readouterr().out)] == ["shop", "ci"]
    assert run("keys", "revoke", "1") == 0
    assert run("keys", "revoke", "1") == 3
    assert run("keys", "create", "x", "--scope", "root") == 2
    for glob in ("Shop*", "", "shop, till", "shop/*"):
        assert run("keys", "create", "x", "--app", glob) == 2
    assert run("keys", "create", "x", "--app", "[a-c]*") == 0
    for odd in ("", "a\nb", "x" * 61):
        assert run("keys", "create", odd) == 2
        assert "give 1 to 60 characters that can be printed" in capsys.readouterr().err
