"""Links to jobs, in the store in PostgreSQL and in the one in memory."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text

from tests import builders
from tests.postgres import fresh_database
from tests.stores import AnyStore
from tuner.nouns.errors import Conflict, NotFound
from tuner.nouns.model import MOST_LINKS, JobId
from tuner.store.db import Store, make_engine
from tuner.store.db.tables import links
from tuner.store.queue import Queue


def new_job(store: AnyStore) -> JobId:
    made = store.create_job(builders.spec(), idempotency_key=None, request_sha256="")
    return made[0].job.id


def test_a_link_opens_its_job_until_it_is_revoked(store: AnyStore) -> None:
    first, second = new_job(store), new_job(store)
    link, other = store.share(first, "a", None), store.share(second, "b", None)
    assert (link.job, link.expires_at, store.links(first)) == (first, None, [link])
    assert (store.shared_job("a"), store.shared_job("b")) == (first, second)
    with pytest.raises(NotFound, match="has no link"):
        store.unshare(first, other.id)
    store.unshare(first, link.id)
    assert store.links(first) == []
    with pytest.raises(NotFound, match="revoked"):
        store.shared_job("a")
    assert store.shared_job("b") == second
    with pytest.raises(NotFound, match="has no link"):
        store.unshare(first, link.id)


def test_a_link_opens_nothing_when_its_time_is_over(store: AnyStore) -> None:
    job_id, now = new_job(store), datetime.now(UTC)
    store.share(job_id, "later", now + timedelta(days=1))
    over = store.share(job_id, "over", now - timedelta(seconds=1))
    assert store.shared_job("later") == job_id
    with pytest.raises(NotFound, match="its time is over"):
        store.shared_job("over")
    assert store.links(job_id)[1] == over


def test_a_job_has_a_bounded_number_of_links(store: AnyStore) -> None:
    job_id = new_job(store)
    for number in range(MOST_LINKS):
        store.share(job_id, str(number), None)
    with pytest.raises(Conflict, match="revoke one first"):
        store.share(job_id, "one more", None)


def test_only_a_job_can_be_shared(store: AnyStore) -> None:
    with pytest.raises(NotFound, match="there is no job 7"):
        store.share(JobId(7), "a", None)
    assert store.links(JobId(7)) == []


@pytest.mark.real
def test_the_table_has_no_secret_and_goes_with_the_job() -> None:
    with fresh_database() as url:
        engine = make_engine(url)
        store = Store(engine, Queue())
        store.share(new_job(store), "a secret", None)
        with engine.begin() as connection:
            rows = connection.execute(select(links)).all()
            assert len(rows) == 1
            assert "a secret" not in str(rows)
            connection.execute(text("DELETE FROM jobs"))
            assert connection.execute(select(links)).all() == []
        engine.dispose()
