"""The OpenAPI document is complete: an example for every call, and every problem."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from tests.unit.api.fakes import Api
from tuner.nouns import model as nouns
from tuner.nouns import schemas
from tuner.service.api.reference import known

DOCUMENT: dict[str, Any] = Api(api_key="k").app.openapi()
OPERATIONS = [
    pytest.param(path, method, operation, id=f"{method} {path}")
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]
every_operation = pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
JSON_TYPES = ("application/json", "application/problem+json")


def _fits(example: Any, schema: dict[str, Any]) -> None:
    jsonschema.validate(example, {**schema, "components": DOCUMENT["components"]})


def _contents(operation: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for status, response in operation["responses"].items():
        for kind, content in response.get("content", {}).items():
            yield status, kind, content


@every_operation
def test_every_answer_has_an_example_that_fits(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    for status, kind, content in _contents(operation):
        assert "example" in content, (status, kind)
        assert content["schema"], (status, kind)
        _fits(content["example"], content["schema"])
        if kind in JSON_TYPES and "$ref" in content["schema"]:
            name = content["schema"]["$ref"].rpartition("/")[2]
            fields = DOCUMENT["components"]["schemas"][name]["properties"]
            assert set(content["example"]) <= set(fields)


@every_operation
def test_every_request_has_an_example_that_fits(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    for parameter in operation.get("parameters", []):
        assert parameter["schema"].get("examples"), parameter["name"]
        assert parameter.get("description"), parameter["name"]
        for example in parameter["schema"]["examples"]:
            _fits(example, parameter["schema"])
    for content in operation.get("requestBody", {}).get("content", {}).values():
        _fits(content["example"], content["schema"])


@every_operation
def test_every_call_documents_its_problems(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    statuses = set(operation["responses"])
    expected = set()
    if path not in ("/healthz", "/readyz"):
        expected |= {"401", "503"}
    if "{" in path:
        expected |= {"404"}
    if operation.get("parameters"):
        expected |= {"422"}
    if path.endswith(
        (
            "/cancel",
            "/finish",
            "/recommendation",
            "/report",
            "/uwsgi.ini",
            "/sysctls",
            "/compose.yaml",
        )
    ):
        expected |= {"409"}
    assert expected <= statuses
    for status, kind, _ in _contents(operation):
        assert (kind == "application/problem+json") == (int(status) >= 400)


@every_operation
def test_every_call_has_a_summary_and_a_description(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    assert operation["summary"]
    assert operation["description"]


def test_the_request_of_a_job_is_documented_field_by_field() -> None:
    body = DOCUMENT["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]
    names = ["TuneRequest", "CompareRequest", "CalibrateRequest"]
    assert body["schema"]["oneOf"] == [{"$ref": f"#/components/schemas/{name}"} for name in names]
    fields = DOCUMENT["components"]["schemas"]["TuneRequest"]["properties"]
    assert {"app", "target", "limits", "workload", "budget"} <= set(fields)


@pytest.mark.parametrize("name", [name for name in known() if name[0].isupper()])
def test_every_example_is_read_by_the_model_of_its_name(name: str) -> None:
    model = getattr(schemas, name, None) or getattr(nouns, name)
    found = model.model_validate_json(json.dumps(known()[name]))
    assert (
        found.model_dump(mode="json", include=found.model_fields_set).keys() == known()[name].keys()
    )


def test_every_reference_leads_somewhere() -> None:
    def references(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for inner in value.values():
                yield from references(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from references(inner)

    known = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert set(references(DOCUMENT)) <= known


def test_the_key_is_documented_and_health_is_open() -> None:
    assert set(DOCUMENT["components"]["securitySchemes"]) == {"ApiKey", "Bearer"}
    assert DOCUMENT["security"]
    assert DOCUMENT["paths"]["/healthz"]["get"]["security"] == []


def test_the_example_of_a_job_is_accepted() -> None:
    body = DOCUMENT["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]
    assert Api().submit(body["example"]).status_code == 201


def test_every_field_is_described_and_an_answer_sends_all_of_its_fields() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for name, schema in schemas.items():
        fields = schema.get("properties", {})
        assert [field for field in fields if not fields[field].get("description")] == [], name
    whole = ("JobAnswer", "WindowAnswer", "ArmAnswer", "CalibrationAnswer")
    for name in (*whole, "ServerFigures", "ServiceFigures"):
        assert set(schemas[name]["required"]) == set(schemas[name]["properties"]), name
    open_end = schemas["Effect"]["properties"]["ci_low"]["anyOf"]
    assert open_end == [{"type": "number"}, {"type": "null"}]
