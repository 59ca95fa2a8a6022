"""The API over the real store: what PostgreSQL would not take must never get there."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event

from tests import finished_jobs
from tests.unit.api.fakes import Api
from tests.unit.api.test_bad_input import NASTY_PATHS
from tuner.nouns.model import JobId
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue


@contextmanager
def counted(store: Store) -> Iterator[list[str]]:
    """The statements that are sent meanwhile, those of the queue aside."""
    sent: list[str] = []

    def count(connection: object, cursor: object, statement: str, *_: object) -> None:
        sent.append(statement)

    event.listen(store._engine, "before_cursor_execute", count)
    try:
        yield sent
    finally:
        event.remove(store._engine, "before_cursor_execute", count)


@pytest.fixture
def api(postgres_store: Store) -> Api:
    return Api(postgres_store)


def test_a_job_is_stored_listed_shown_and_cancelled(api: Api) -> None:
    submitted = api.submit()
    assert submitted.status_code == 201
    path = submitted.headers["location"]
    assert api.get(path).json() == submitted.json()
    assert [job["id"] for job in api.get("/v1/jobs").json()["jobs"]] == [submitted.json()["id"]]
    cancelled = api.send("POST", f"{path}/cancel")
    assert cancelled.json()["state"] == "cancelled"
    assert api.get(f"{path}/trials").json() == {"trials": []}
    assert api.get(f"{path}/uwsgi.ini").status_code == 409


def test_reads_cost_few_statements_whatever_the_number_of_windows(
    api: Api, postgres_store: Store
) -> None:
    with counted(postgres_store) as sent:
        path = api.submit().headers["location"]
    assert len(sent) == 5  # the job, its line of the audit, two events, its place in the queue
    job_id = JobId(int(path.rpartition("/")[2]))
    finished_jobs.measured(postgres_store, job_id, blocks=20)
    with counted(postgres_store) as sent:
        answer = api.get(path)
    assert answer.json()["progress"]["blocks_done"] == 20
    assert len(sent) == 2
    assert not any("histogram" in statement for statement in sent)
    with counted(postgres_store) as sent:
        assert api.get(path, **{"If-None-Match": answer.headers["etag"]}).status_code == 304
    assert len(sent) == 1
    with counted(postgres_store) as sent:
        assert api.get(path, **{"If-None-Match": '"another"'}).status_code == 200
    assert len(sent) == 3
    with counted(postgres_store) as sent:
        assert len(api.get("/v1/jobs").json()["jobs"]) == 1
    assert len(sent) == 1
    assert not any(f"jobs.{column}" in sent[0] for column in ("spec", "facts", "recommendation"))


def test_a_poll_of_an_answer_costs_one_statement(api: Api, postgres_store: Store) -> None:
    job_id = finished_jobs.stored(postgres_store, finished_jobs.recommendation(), app="shop")
    for path in (f"/v1/jobs/{job_id}/uwsgi.ini", "/v1/apps/shop/uwsgi.ini"):
        tag = api.get(path).headers["etag"]
        with counted(postgres_store) as sent:
            assert api.get(path, **{"If-None-Match": tag}).status_code == 304
        assert len(sent) == 1


def test_a_scrape_costs_three_statements_and_reads_no_window(
    api: Api, postgres_store: Store
) -> None:
    job_id = JobId(api.submit().json()["id"])
    finished_jobs.measured(postgres_store, job_id, blocks=20)
    postgres_store.see_host("bench-1", "default")
    with counted(postgres_store) as sent:
        answer = api.get("/metrics")
    assert 'tuner_windows_total{pool="default"} 160.0' in answer.text
    assert len(sent) == 3
    assert not any("windows" in statement for statement in sent)
    of_blocks = [statement for statement in sent if "measurements" in statement]
    assert all("measurements.host = hosts.name" in statement for statement in of_blocks)  # an index


def test_no_nasty_path_is_a_fault_of_ours(api: Api) -> None:
    for path in NASTY_PATHS:
        assert api.get(path).status_code in (404, 422)
    assert api.get(f"/v1/jobs/{2**63 - 1}").status_code == 404
    assert api.get(f"/v1/jobs?after={2**63 - 1}").status_code == 200


def test_a_server_that_is_away_is_503() -> None:
    engine = make_engine("postgresql://nobody@127.0.0.1:1/nothing")
    api = Api(Store(engine, Queue()))
    for path in ("/readyz", "/v1/jobs", "/v1/jobs/1"):
        answer = api.get(path)
        assert answer.status_code == 503
        assert answer.json()["system"] == "postgresql"
    assert api.submit().status_code == 503
    assert api.get("/healthz").status_code == 200
    engine.dispose()
