"""POST /v1/lint: a file in, findings out; nothing is stored or run."""

import json
from typing import Any

import pytest

from tests import builders
from tests.answers import LINT_ANSWER as ANSWER
from tests.answers import LINT_REQUEST as REQUEST
from tests.unit.api.fakes import Api, FakeStore
from tuner.nouns.model import JobId

FILE = "[uwsgi]\nhttp-socket = :8000\nmodule = app\nvaccum = true\nprocesses = 2 ; two\n"


def _lint(api: Api, **document: Any) -> Any:
    response = api.send("POST", "/v1/lint", json=document)
    assert response.status_code == 200, response.text
    return response.json()


def _rules(answer: Any) -> dict[str, Any]:
    return {finding["rule"]: finding for finding in answer["findings"]}


def test_the_documented_answer_is_the_answer_but_for_notes() -> None:
    found = _lint(Api(), **REQUEST)
    found["findings"] = [f for f in found["findings"] if f["severity"] != "note"]
    assert found == ANSWER


def test_findings_say_where_what_and_how_to_put_it_right() -> None:
    found = _rules(_lint(Api(), ini=FILE))
    assert found["U019"]["line"] == 4
    assert found["U019"]["name"] == "misspelt-key"
    assert found["U019"]["fix"] == {
        "sentence": "write vacuum, if you mean that",
        "is_safe": False,
        "is_automatic": True,
    }
    assert found["U028"]["fix"]["is_safe"] is True


def test_a_fixed_file_comes_only_when_asked_for() -> None:
    assert _lint(Api(), ini=FILE)["fixed_ini"] is None
    fixed = _lint(Api(), ini=FILE, fix=True)
    assert "; two\nprocesses = 2\n" in fixed["fixed_ini"]
    assert "vaccum" in fixed["fixed_ini"]
    assert "U028" not in _rules(fixed)


def test_limits_are_held_against_the_file() -> None:
    text = f"{FILE}listen = 1024\n"
    limits = {"cpus": 1, "memory_mb": 64, "somaxconn": 128}
    assert "U050" in _rules(_lint(Api(), ini=text, limits=limits))
    more = {**limits, "memory_mb": 512, "somaxconn": 4096}
    errors = [f for f in _lint(Api(), ini=text, limits=more)["findings"] if f["line"] == 6]
    assert errors == []


def test_a_job_lends_its_build_and_its_limits() -> None:
    api = Api(store=FakeStore(kept={7: builders.job(id=JobId(7), facts=builders.FACTS)}))
    found = _lint(api, ini=FILE, job=7)
    assert found["is_of_build"] is True
    assert _rules(found)["U021"]["severity"] == "error"  # this build has no http-socket


def test_a_release_has_its_own_options() -> None:
    document = {"ini": "[uwsgi]\nmax-requests = 9\nmax-requests-delta = 3\n"}
    for release, rules in (("2.0.23", {"U022"}), ("2.0.31", set[str]())):
        answer = _lint(Api(), **document, uwsgi=release)
        assert answer["uwsgi_version"] == release
        assert {f["rule"] for f in answer["findings"] if f["line"] == 3} == rules


def test_a_job_says_itself_which_uwsgi_it_has() -> None:
    api = Api(store=FakeStore(kept={7: builders.job(id=JobId(7), facts=builders.FACTS)}))
    response = api.send("POST", "/v1/lint", json={"ini": FILE, "job": 7, "uwsgi": "2.0.23"})
    assert response.json()["mistakes"] == [
        {"path": "uwsgi", "message": "job 7 says which uWSGI reads the file"}
    ]


def test_a_job_that_has_not_seen_its_image_is_a_conflict() -> None:
    api = Api(store=FakeStore(kept={7: builders.job(id=JobId(7), facts=None)}))
    response = api.send("POST", "/v1/lint", json={"ini": FILE, "job": 7})
    assert response.status_code == 409
    assert "job 7 has not seen its image yet" in response.json()["detail"]


def test_an_unknown_job_is_not_found() -> None:
    assert Api().send("POST", "/v1/lint", json={"ini": FILE, "job": 7}).status_code == 404


def test_the_database_is_asked_only_where_a_job_is_named() -> None:
    api = Api(store=FakeStore(away=True))
    assert _lint(api, ini=FILE)["is_usable"]
    assert api.send("POST", "/v1/lint", json={"ini": FILE, "job": 7}).status_code == 503


@pytest.mark.parametrize(
    ("text", "rule"),
    [("[uwsgi]\nmodule = a\0b\n", "U002"), ('{"uwsgi": {}}', "U004")],
)
def test_what_is_no_ini_is_a_finding_and_not_a_failure(text: str, rule: str) -> None:
    found = _lint(Api(), ini=text, fix=True)
    assert not found["is_usable"]
    assert list(_rules(found)) == [rule]
    assert found["fixed_ini"] == text


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({}, "ini"),
        ({"ini": 5}, "ini"),
        ({"ini": "x" * 200_001}, "ini"),
        ({"ini": "\ud800"}, "ini"),
        ({"ini": FILE, "image": "a/b:1"}, "image"),
        ({"ini": FILE, "job": 0}, "job"),
        ({"ini": FILE, "job": 2**63}, "job"),
        ({"ini": FILE, "limits": {"cpus": -1}}, "limits.cpus"),
        ({"ini": FILE, "memory_per_process_mb": 1e999}, "memory_per_process_mb"),
    ],
)
def test_every_mistake_in_a_request_is_named(document: Any, path: str) -> None:
    body = json.dumps(document).replace("Infinity", "1e999")
    headers = {"content-type": "application/json"}
    response = Api().send("POST", "/v1/lint", content=body, headers=headers)
    assert response.status_code == 422, response.text
    assert [mistake["path"] for mistake in response.json()["mistakes"]] == [path]
