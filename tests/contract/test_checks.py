"""What checks found where apps are deployed, in the store in PostgreSQL and in memory."""

import pytest

from tests import builders
from tests.stores import AnyStore
from tuner.nouns.errors import NotFound
from tuner.nouns.model import Checker, JobId, NewCheck


def new_job(store: AnyStore, app: str) -> JobId:
    spec = builders.spec(app=app)
    return store.create_job(spec, idempotency_key=None, request_sha256="")[0].job.id


def found(job: JobId, checker: Checker, *, holds: bool, said: str = "") -> NewCheck:
    return NewCheck(checker=checker, job=job, holds=holds, said=said)


def test_an_app_has_the_last_word_of_each_checker(store: AnyStore) -> None:
    job, _ = new_job(store, "shop"), new_job(store, "other")
    first = store.report_check("shop", found(job, Checker.RECOMMEND, holds=True))
    gate = store.report_check("shop", found(job, Checker.GATE, holds=True))
    again = found(job, Checker.RECOMMEND, holds=False, said="processes: 2 deployed")
    last = store.report_check("shop", again)
    assert (last.holds, last.said, last.job) == (False, "processes: 2 deployed", job)
    assert last.at >= first.at
    shop, other = store.app("shop"), store.app("other")
    assert {*shop.checks} == {gate, last}
    assert other.checks == ()


def test_only_a_job_of_the_app_can_be_checked(store: AnyStore) -> None:
    job = new_job(store, "shop")
    with pytest.raises(NotFound, match="is not of app"):
        store.report_check("other", found(job, Checker.GATE, holds=True))
    with pytest.raises(NotFound, match="there is no job 99"):
        store.report_check("shop", found(JobId(99), Checker.GATE, holds=True))
