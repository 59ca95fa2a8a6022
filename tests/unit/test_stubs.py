"""What a target.yaml may say of a stub."""

from typing import Any

import pytest
from pydantic import ValidationError

from tuner.bench.engine import stubs
from tuner.nouns.masking import masked
from tuner.nouns.model import Condition, Runs, Service, Target, TargetApp, TargetRequest
from tuner.nouns.model.named_files import expanded
from tuner.nouns.model.workloads import ClosedLoop

PAYMENT: dict[str, Any] = {
    "hosts": ["api.pay.example"],
    "latency_ms": {"p50": 80, "p95": 300},
    "responses": [{"path": "/v1/charge", "method": "POST", "body": {"file": "charge.json"}}],
}
BARE: dict[str, Any] = {"stub": {}}


def app(services: Any, **more: Any) -> TargetApp:
    fields = {"name": "shop", "description": "a shop", "build": ".", "services": services}
    return TargetApp.model_validate(fields | more)


def target(services: Any, **more: Any) -> Target:
    fields = {"target_app": "shop", "command": ["uwsgi"], "memory_per_process_mb": 12}
    return Target.model_validate(fields | {"services": services} | more)


def read(name: str) -> str:
    return {"charge.json": '{"id": 1}\n'}[name]


def test_the_body_of_a_file_is_read_where_there_is_a_folder() -> None:
    found = app(expanded({"services": {"payment": {"stub": PAYMENT}}}, read)["services"])
    stub = found.services["payment"].stub
    assert stub is not None
    assert stub.responses[0].body == '{"id": 1}\n'
    assert stub.responses[0].all_headers == {"Content-Type": "application/json"}
    assert found.services["payment"].memory_mb == 64
    assert TargetApp.model_validate_json(found.model_dump_json()) == found


def test_a_request_by_image_with_a_file_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"charge\.json: a request has no folder"):
        TargetRequest.model_validate({"image": "a", "services": {"payment": {"stub": PAYMENT}}})


@pytest.mark.parametrize(
    ("stub", "told"),
    [
        ({"latency_ms": {"p50": 3, "p95": 2}}, "p95 is below p50"),
        ({"responses": [{"path": "v1"}]}, "give /a/path"),
        ({"responses": [{"path": "/a/*/b"}]}, "for its end only"),
        ({"responses": [{"path": "/", "headers": {"Content-length": "1"}}]}, "content-length"),
        ({"hosts": ["https://a.example"]}, "should match pattern"),
        ({"ports": {0: "http"}}, "greater than or equal to 1"),
    ],
)
def test_mistakes_in_a_stub_are_told(stub: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Service.model_validate({"stub": stub})


@pytest.mark.parametrize(
    ("service", "told"),
    [
        (BARE | {"image": "a"}, "give one of build"),
        (BARE | {"env": {"A": "1"}}, "a stub has no env"),
        (BARE | {"volumes": ["/data"], "runs": "beside"}, "a stub has no runs, volumes"),
    ],
)
def test_a_stub_is_nothing_else(service: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Service.model_validate(service)


def test_each_name_leads_to_one_service_and_a_stub_has_no_data() -> None:
    services = {
        "db": {"image": "a", "depends_on": {"pay": "service_completed_successfully"}},
        "pay": {"stub": {"hosts": ["pay", "db", "a.example"]}},
        "other": {"stub": {"hosts": ["a.example"]}, "depends_on": {"pay": "service_healthy"}},
    }
    with pytest.raises(ValidationError) as caught:
        app(services, prepare=[{"in": "pay", "run": "true"}])
    (mistake,) = caught.value.errors()
    assert mistake["msg"].removeprefix("Value error, ").split("; ") == [
        "services.db.depends_on.pay: pay is a stub and never ends",
        "prepare.0.in: pay is a stub and has no data",
        "services.pay.stub.hosts: db is the name of something else here",
        "services.other.stub.hosts: a.example is the name of something else here",
    ]


def test_a_stub_takes_little_and_stays_outside_where_services_are_beside() -> None:
    its = target({"pay": BARE, "db": {"image": "a"}})
    assert its.elsewhere_cpus == 1.25
    moved, _ = Condition.BESIDE.applied(its, ClosedLoop())
    assert {name: each.runs for name, each in moved.services.items()} == {
        "pay": Runs.ELSEWHERE,
        "db": Runs.BESIDE,
    }
    only = target({"pay": BARE})
    assert Condition.BESIDE.applied(only, ClosedLoop())[0] == only


def test_no_secret_of_a_response_is_shown() -> None:
    response = {"path": "/", "headers": {"Set-Cookie": "id=42"}, "body": {"access_token": "abc"}}
    shown = masked(Service.model_validate({"stub": {"responses": [response]}})).stub
    assert shown is not None
    assert shown.responses[0].headers == {"Set-Cookie": "***"}
    assert shown.responses[0].body == {"access_token": "***"}


def test_an_app_trusts_the_stubs_unless_it_has_a_bundle_of_its_own() -> None:
    its = stubs.trusting(target({}, env={"SSL_CERT_FILE": "/own.pem"}), "PEM")
    assert its.env == {
        "CURL_CA_BUNDLE": stubs.TRUSTED,
        "REQUESTS_CA_BUNDLE": stubs.TRUSTED,
        "SSL_CERT_FILE": "/own.pem",
    }
    assert its.files == {stubs.TRUSTED: "PEM"}
    assert stubs.trusting(target({}), "") == target({})
