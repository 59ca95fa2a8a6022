from typing import Any

import pytest

from tests.unit.api.fakes import Api

GOOD: dict[str, Any] = {"app": "shop", "target": {"target_app": "mixed"}}


def _mistakes(document: Any) -> dict[str, str]:
    answer = Api().submit(document)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"].startswith(f"{len(answer.json()['mistakes'])} mistake")
    return {m["path"]: m["message"] for m in answer.json()["mistakes"]}


def test_every_mistake_of_shape_is_listed_with_its_path() -> None:
    found = _mistakes(
        {
            **GOOD,
            "colour": "blue",
            "limits": {"cpus": "many", "memory_gb": 2},
            "workload": {"kind": "closed_loop", "concurrency": 0, "requests": [{"path": "x"}]},
            "slo": {"latency_p95_ms": "fast", "memory_mb": {"relative_to_baseline": -1}},
            "seed": -1,
        }
    )
    assert set(found) == {
        "colour",
        "limits.cpus",
        "limits.memory_gb",
        "workload.concurrency",
        "workload.requests.0.path",
        "slo.latency_p95_ms",
        "slo.memory_mb.relative_to_baseline",
        "seed",
    }
    assert found["colour"] == found["limits.memory_gb"] == "unknown field"
    wrong = _mistakes({**GOOD, "concurrency": 8, "limits": {"cpus": 1, "trials": 9}})
    assert wrong == {
        "concurrency": "unknown field; did you mean workload.concurrency?",
        "limits.trials": "unknown field; did you mean budget.trials?",
    }
    assert found["workload.requests.0.path"] == "a path starts with '/', as in '/x'"


def test_a_name_without_a_value_is_a_mistake_of_the_field_that_holds_it() -> None:
    steps = [
        {"path": "/login", "headers": {"X-Token": "{{token}}"}},
        {"path": "/", "take": {"token": {"json": "token"}}},
    ]
    workload = {"kind": "journey", "requests": steps}
    assert _mistakes({**GOOD, "workload": workload, "seed": -1}) == {
        "workload.requests.0.headers.X-Token": (
            "{{token}} is used before requests.1 takes it from its answer"
        ),
        "seed": "Input should be greater than or equal to 0",
    }


@pytest.mark.parametrize("image", ["../x://y", "../images", "", "cart@sha256:12", "a" * 501])
def test_an_image_is_a_reference(image: str) -> None:
    asked = {
        "app": "a",
        "target": {"image": image},
        "baseline": {"ini": "[uwsgi]\nhttp-socket = :8000\n"},
    }
    assert set(_mistakes(asked)) == {"target.image"}


def test_paths_into_an_inline_space_name_only_what_was_written() -> None:
    parameters = {"n": {"type": "int", "low": [], "hi": 3}, "m": {"type": "odd"}}
    found = _mistakes({**GOOD, "search_space": {"parameters": parameters}})
    assert set(found) == {
        "search_space.parameters.n.low",
        "search_space.parameters.n.high",
        "search_space.parameters.n.hi",
        "search_space.parameters.m",
    }
    assert found["search_space.parameters.m"] == "give type: one of 'int', 'choice', 'bool'"


def test_mistakes_of_shape_and_of_meaning_come_together() -> None:
    found = _mistakes(
        {
            "app": "Not A Name",
            "target": {"target_app": "nope"},
            "colour": "blue",
            "search_space": "nowhere",
            "baseline": {"ini": "[uwsgi]\nlisten = 9999\n"},
        }
    )
    assert set(found) == {
        "app",
        "colour",
        "target.target_app",
        "search_space",
        "baseline.ini:2",
    }


def test_what_only_follows_from_a_replaced_value_is_not_reported() -> None:
    ini = "[uwsgi]\nlisten = 9999\n"  # fits the somaxconn that was meant, not the default
    found = _mistakes({**GOOD, "limits": {"somaxconn": "20000x"}, "baseline": {"ini": ini}})
    assert set(found) == {"limits.somaxconn"}


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({**GOOD, "limits": {"memory_mb": 20}}, "limits.memory_mb"),
        ({**GOOD, "baseline": {"ini": "hello"}}, "baseline.ini"),
        ({**GOOD, "search_space": {"parameters": {}}}, "search_space.parameters"),
        ({**GOOD, "workload": {"concurrency": 3}}, "workload"),
        ({"app": "shop"}, "target"),
        ({**GOOD, "objective": {"minimize": "latency_p99_ms"}}, "objective.minimize"),
        ([], ""),
        ("job", ""),
        (7, ""),
    ],
)
def test_each_mistake_has_its_path(document: Any, path: str) -> None:
    assert path in _mistakes(document)


def test_a_body_that_is_too_large_is_refused() -> None:
    answer = Api().submit({**GOOD, "baseline": {"ini": "x" * 1_100_000}})
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_that_is_no_json_is_refused() -> None:
    headers = {"content-type": "text/plain"}
    assert Api().send("POST", "/v1/jobs", content=b"{}", headers=headers).status_code == 415


JSON = {"content-type": "application/json"}
NASTY_BODIES = [
    b"",
    b"{",
    b"null",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b"NaN",
    b'{"app": NaN}',
    b'{"app":"a","target":{"target_app":"mixed"},"slo":{"error_rate":Infinity}}',
    b'{"app":"a","target":{"target_app":"mixed"},"slo":{"error_rate":1e999}}',
    b'{"app":"a","target":{"target_app":"mixed"},"min_effect":-1e999}',
    b'{"app":"a","target":{"target_app":"mixed"},"baseline":{"ini":"[uwsgi]\\u0000"}}',
    b'{"app":"a","target":{"target_app":"mixed"},"baseline":{"ini":"[uwsgi]\\ud800"}}',
    b'{"app":"a","target":{"image":"a\\u0000b"},"baseline":{"ini":"[uwsgi]"}}',
    b'{"app":"a","target":{"target_app":"mixed"},"\\ud800":1}',
    b'{"app":"a","target":{"target_app":"mixed"},"\\u0000":1}',
    b'{"app":"\\ud800","target":{"target_app":"\\ud800"}}',
    b'{"app":"a","target":{"target_app":"mixed"},"seed":' + b"9" * 5000 + b"}",
    b'{"app":"a","target":{"target_app":"mixed"},"seed":' + b"9" * 300 + b"}",
    b"[" * 100_000,
    b"[" * 40 + b"]" * 40,
    b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    b'{"app":{"$ne":1},"target":[]}',
    b'{"app":"a","target":{"target_app":"../../etc"}}',
    b'{"app":"a","target":{"target_app":"mixed"},"limits":null,"budget":null}',
    b'{"app":"a","target":{"target_app":"mixed"},"workload":{"kind":["closed_loop"]}}',
    b'{"app":"a","target":{"target_app":"mixed"},"workload":{"kind":null}}',
    b'{"app":"a","target":{"target_app":"mixed"},"search_space":[]}',
    b'{"app":"a","target":{"target_app":"mixed"},"search_space":{"parameters":'
    b'{"processes":{"type":"int","low":"__import__(1)","high":"9**9**9"}}}}',
    b'{"app":"a","target":{"target_app":"mixed"},"search_space":{"parameters":'
    b'{"processes":{"type":"int","low":1,"high":1' + b"0" * 4000 + b"}}}}",
]


@pytest.mark.parametrize("body", NASTY_BODIES, ids=range(len(NASTY_BODIES)))
def test_a_nasty_body_gets_422(body: bytes) -> None:
    answer = Api().send("POST", "/v1/jobs", content=body, headers=JSON)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["mistakes"]


NASTY_PATHS = [
    "/v1/jobs/abc",
    "/v1/jobs/0",
    "/v1/jobs/-1",
    "/v1/jobs/1.5",
    "/v1/jobs/9223372036854775808",
    "/v1/jobs/" + "9" * 6000,
    "/v1/jobs/%00",
    "/v1/jobs/1/trials/-1",
    "/v1/jobs/1/trials/99999999999",
    "/v1/jobs/1/trials/0?raw=perhaps",
    "/v1/jobs/1/uwsgi.ini?form=evil",
    "/v1/jobs?limit=0",
    "/v1/jobs?limit=1e9",
    "/v1/jobs?after=99999999999999999999",
    "/v1/jobs?state=sleeping",
    "/v1/jobs?app=%00",
    "/v1/jobs?app=%ff%fe",
    "/v1/apps/%00/uwsgi.ini",
    "/v1/apps/Shop/uwsgi.ini",
    "/v1/apps/shop/uwsgi.ini?max_age_days=nan",
    "/v1/apps/shop/uwsgi.ini?max_age_days=inf",
    "/v1/apps/shop/uwsgi.ini?max_age_days=1e308",
    "/v1/apps/shop/uwsgi.ini?require=best",
    "/v1/search-spaces/%00",
    "/v1/search-spaces/..%2f..%2fetc%2fpasswd",
    "/nowhere",
    "/v1/jobs/1/nowhere",
]


@pytest.mark.parametrize("path", NASTY_PATHS, ids=range(len(NASTY_PATHS)))
def test_a_nasty_path_gets_404_or_422(path: str) -> None:
    answer = Api().get(path)
    assert answer.status_code in (404, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "headers",
    [
        {"Idempotency-Key": "x" * 201},
        {"Idempotency-Key": "two words"},
        {"Idempotency-Key": b"\xff\xfe"},
        {"Idempotency-Key": b"caf\xc3\xa9"},
        {"Idempotency-Key": b""},
    ],
)
def test_a_nasty_key_gets_422(headers: Any) -> None:
    assert Api().submit(**headers).status_code == 422


@pytest.mark.parametrize("tag", ["", '"', "W/", ",,,", "*", "\x01", "x" * 5000])
def test_any_if_none_match_is_answered(tag: str) -> None:
    api = Api()
    api.submit()
    assert api.get("/v1/jobs/1", **{"If-None-Match": tag}).status_code in (200, 304)


def test_a_method_that_an_address_does_not_take_is_a_problem() -> None:
    answer = Api().send("DELETE", "/v1/jobs")
    assert answer.status_code == 405
    assert answer.json()["status"] == 405
    assert answer.headers["allow"]


@pytest.mark.parametrize(
    "document",
    [
        {**GOOD, "limits": {"sysctls": {f"f{n}": {} for n in range(6_000)}}},
        {**GOOD, "target": {"target_app": "mixed", "env": {f"E{n}": [] for n in range(6_000)}}},
        {**GOOD, **{f"unknown_{n}": n for n in range(6_000)}},
        {**{f"unknown_{n}": n for n in range(6_000)}, **GOOD},
        {
            **GOOD,
            "workload": {"kind": "closed_loop", "requests": [{"path": n} for n in range(6_000)]},
        },
    ],
)
def test_of_thousands_of_mistakes_the_first_ones_are_said(document: Any) -> None:
    found = Api().submit(document).json()["mistakes"]
    assert len(found) <= 51
    assert len(found) > 20, "they are said with their places"
    assert found[-1]["message"] == "there are many more mistakes: correct these first"
    assert "required" not in str(found).lower(), "what is further down is no mistake"


def test_what_a_database_cannot_hold_is_said_for_the_first_values() -> None:
    found = Api().submit({**GOOD, "seed": ["\0"] * 6_000}).json()["mistakes"]
    assert len(found) <= 100
