"""The whole OpenAPI document against the service, over real PostgreSQL: whatever is sent.

Nothing may be a fault of the service's own, and every answer is as the document says: status, type
and schema. The database holds a finished job of each kind, so that answers have something in them.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.answers import CALIBRATE_REQUEST, COMPARE_REQUEST
from tests.budgets import examples
from tests.killable_worker import SPEC, worker_on
from tests.postgres import fresh_database
from tests.scopes import needed
from tests.unit.api.fakes import Api
from tuner.nouns.model import JobId, Scope
from tuner.service.api.callers import WrongKeys
from tuner.service.api.security import OPEN_PATHS
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
HERE = {"Host": "localhost"}
"""A name that the service knows as its own. It answers 403 to a request for any other name."""

KEY = {**HERE, "X-API-Key": "the key of this service"}
SECRETS = {scope: f"the secret of {scope}" for scope in Scope}
STRANGERS = (HERE, {**HERE, "X-API-Key": "another"}, {**HERE, "Authorization": "Bearer "})
EXAMPLES = 40  # of each call, many of which differ in what has been left out or is wrong

PHASES = (Phase.generate, Phase.shrink)
"""Not the examples of the document: of those of a job schemathesis makes some 2 000 calls, one for
each example of each field. tests/unit/api/test_openapi.py reads them all."""

DOCUMENT = Api(api_key=KEY["X-API-Key"]).app.openapi()

schema = schemathesis.openapi.from_dict(DOCUMENT)


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with fresh_database() as url:
        engine = make_engine(url)
        store = Store(engine, Queue())
        patient = WrongKeys(most=10**9)  # strangers send more keys than an address may
        api = Api(store, api_key=KEY["X-API-Key"], limits={"wrong_keys": patient})
        store.see_host("bench-1", "default", None, None)
        for scope, secret in SECRETS.items():
            store.create_key(scope.value, scope, secret, None, by="operator")
        tuned = store.create_job(SPEC, idempotency_key=None, request_sha256="0")[0].job
        measured = submitted(api, COMPARE_REQUEST)
        calibrated = submitted(api, CALIBRATE_REQUEST)
        for job_id in (tuned.id, measured, calibrated):
            run(store, job_id)
        yield api
        engine.dispose()


def calling(path: str, method: str) -> Callable[..., None]:
    """The test of one call, whatever is sent.

    One of its own each: `schema.parametrize()` over all of them gives every item the same node id
    under pytest 9.2, so that pytest-xdist runs the first of them and nobody notices.
    """

    @schema.include(path=path, method=method).parametrize()
    @settings(
        max_examples=examples(EXAMPLES),
        phases=PHASES,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def test(api: Api, case: schemathesis.Case[Any]) -> None:
        """The answer is as documented, for keys of the scope that it needs, and nobody else."""
        answer = case.call_and_validate(app=api.app, headers=KEY, checks=CHECKS)
        assert answer.status_code != 403
        for scope, secret in SECRETS.items():
            key = {**HERE, "X-API-Key": secret}
            answer = case.call_and_validate(app=api.app, headers=key, checks=CHECKS)
            is_beyond = not scope.includes(needed(method, path)) and path not in OPEN_PATHS
            assert (answer.status_code == 403) == is_beyond
        for stranger in STRANGERS:
            answer = case.call_and_validate(app=api.app, headers=stranger, checks=CHECKS)
            assert answer.status_code == 401 or path in OPEN_PATHS

    found: Callable[..., None] = test
    return found


def test_the_finished_jobs_have_their_answers(api: Api) -> None:
    assert api.get("/v1/jobs/1/recommendation", **KEY).status_code == 200
    assert api.get("/v1/jobs/2", **KEY).json()["state"] == "succeeded"
    assert api.get("/v1/jobs/3", **KEY).json()["state"] == "succeeded"


CALLS = [(path, method) for path, calls in DOCUMENT["paths"].items() for method in calls]

# What deletes comes last: the other calls are to find the jobs.
for _path, _method in sorted(CALLS, key=lambda call: call[1] == "delete"):
    _name = re.sub(r"\W+", "_", f"{_method}{_path}").strip("_")
    globals()[f"test_whatever_is_sent_to_{_name}"] = calling(_path, _method.upper())


def test_every_call_of_the_document_has_its_test() -> None:
    tests = sum(name.startswith("test_whatever_is_sent_to_") for name in globals())
    assert tests == len(CALLS) >= 25


def submitted(api: Api, document: Any) -> JobId:
    """The number of the job."""
    return JobId(api.send("POST", "/v1/jobs", json=document, headers=KEY).json()["id"])


def run(store: Store, job_id: JobId) -> None:
    """Work on a job to its end, on an invented host."""
    working = worker_on(store)
    working.advance(job_id)
    while not store.job(job_id).state.is_final:
        for measurement in store.measurements(job_id, detailed=False):
            if measurement.is_open:
                working.measure(measurement.id, lambda: False)
        working.advance(job_id)
