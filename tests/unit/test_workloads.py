"""What may be sent, and what is refused before anything starts."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from tuner.nouns.model import (
    Burst,
    ClosedLoop,
    HttpRequest,
    Journey,
    Ladder,
    OpenLoop,
    Paths,
    Workload,
    at_rung,
    connections,
    mistakes_of,
    rungs,
    scaled,
    wants_kept,
    with_keep_alive,
)

WORKLOAD = TypeAdapter[Workload](Workload)
CSRF = {"regex": 'name="csrf" value="([^"]+)"'}
GET, POST = {"path": "/a"}, {"path": "/a", "method": "POST", "body": "{}"}


def read(document: dict[str, Any]) -> Workload:
    return WORKLOAD.validate_python(document)


def request(request: dict[str, Any], **workload: Any) -> dict[str, Any]:
    """A journey of one request."""
    return {"kind": "journey", "requests": [{"method": "POST", **request}], **workload}


@pytest.mark.parametrize(
    ("document", "kind", "open_at_once"),
    [
        ({"kind": "closed_loop", "concurrency": 7, "keep_alive": True}, ClosedLoop, 7),
        ({"kind": "open_loop", "rate_rps": 10, "concurrency": 9}, OpenLoop, 9),
        ({"kind": "ladder", "concurrencies": [100, 1000, 10_000]}, Ladder, 10_000),
        ({"kind": "paths", "concurrency": 9, "requests": [GET, {"path": "/b"}]}, Paths, 9),
        ({"kind": "burst", "users": 500, "requests": [GET, POST]}, Burst, 500),
        ({"kind": "journey", "users": 3, "requests": [GET, POST]}, Journey, 3),
    ],
)
def test_every_kind_says_how_many_connections_it_opens(
    document: dict[str, Any], kind: type, open_at_once: int
) -> None:
    workload = read(document)
    assert isinstance(workload, kind)
    assert connections(workload) == open_at_once


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"kind": "ladder", "concurrencies": [100, 10]}, "rise"),
        ({"kind": "ladder", "concurrencies": [100, 100]}, "rise"),
        ({"kind": "ladder", "concurrencies": [100]}, "at least 2"),
        ({"kind": "burst", "users": 5, "requests": [{**GET, "weight": 2}]}, "order"),
        ({"kind": "journey", "requests": [{**GET, "weight": 2}]}, "order"),
        ({"kind": "paths", "requests": [GET]}, "at least 2"),
        ({"kind": "paths", "requests": [GET, POST]}, "a path of its own"),
        ({"kind": "paths", "requests": [GET, {"path": "/b", "weight": 2}]}, "order"),
        ({"kind": "open_loop", "rate_rps": 5, "requests": [GET, POST]}, "fixed rate"),
        ({"kind": "open_loop", "rate_rps": 5, "requests": [{**GET, "expect": 404}]}, "fixed rate"),
        ({"kind": "closed_loop", "concurrency": 10_001}, "10000"),
        ({"kind": "closed_loop", "requests": [{"path": "a"}]}, "starts with '/'"),
        (request({"body": "a", "form": {"a": "b"}}), "either body or form"),
        (request({"form": {"a": "b"}, "method": "GET"}), "a form needs method: POST"),
        (request({"upload": {"a": {"name": "a"}}}), "either size_kb or text"),
        (request({"upload": {"a": {"name": "a/b", "size_kb": 1}}}), "pattern"),
        (
            request({"upload": {"a": {"name": "a", "text": ""}}, "headers": {"content-type": "a"}}),
            "leave it out",
        ),
        (request({"take": {"a": {}}}), "give one of"),
        (request({"take": {"a": {"json": "a", "cookie": "b"}}}), "give one of"),
        (request({"take": {"a": {"json": "$"}}}), "with dots between them"),
        (request({"take": {"a": {"json": "a..b"}}}), "with dots between them"),
        (request({"take": {"a": {"regex": "value="}}}), "put brackets around"),
        (request({"take": {"a": {"regex": "(a"}}}), "no regular expression"),
        (request({"take": {"a": {"regex": "(?P<a>b)"}}}), "k6 knows"),
        (request({"take": {"a": {"regex": "(a)++"}}}), "k6 knows"),
        (request({}, user_data={"names": ["a", "a"], "rows": [["1", "2"]]}), "the same name"),
        (request({}, user_data={"names": ["a"], "rows": [["1"], ["1", "2"]]}), "row 2 needs 1"),
        (request({}, user_data={"names": ["a"], "rows": [["é" * 100_001]]}), "larger than 200 kB"),
        (request({}, user_data={"names": ["a"], "rows": [["1"]] * 10_001}), "at most 10000"),
        (request({}, user_data={"names": ["a"], "rows": []}), "at least 1"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_a_reason(document: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        read(document)
    assert words in str(mistakes_of(refused.value))


def test_names_without_a_value_are_refused_each_at_its_field() -> None:
    steps = [
        {"path": "/{{user}}/{{nobody}}", "headers": {"X": "{{ token }}"}, "take": {"token": CSRF}},
        {"method": "POST", "form": {"a": "{{token}}", "b": "{{user.name}}"}},
        {"method": "POST", "upload": {"f": {"name": "a", "text": "{{other}}"}}},
        {"method": "POST", "body": "{{late}}", "take": {"late": {"cookie": "a"}}},
    ]
    users = {"names": ["user"], "rows": [["ann"]]}
    with pytest.raises(ValidationError) as refused:
        read({"kind": "journey", "requests": steps, "user_data": users})
    unknown = "there is no {{%s}}: no request before takes it, and user_data has no such column"
    assert mistakes_of(refused.value) == [
        ("journey.requests.0.path", unknown % "nobody"),
        ("journey.requests.0.headers.X", used_early("token", 0)),
        ("journey.requests.1.form.b", unknown % "user.name"),
        ("journey.requests.2.upload.f.text", unknown % "other"),
        ("journey.requests.3.body", used_early("late", 3)),
    ]


def used_early(name: str, request: int) -> str:
    return f"{{{{{name}}}}} is used before requests.{request} takes it from its answer"


def test_a_mix_takes_nothing_and_knows_no_names() -> None:
    with pytest.raises(ValidationError) as refused:
        read({"kind": "closed_loop", "requests": [{"take": {"a": CSRF}}, {"path": "/{{b}}"}]})
    paths = [path for path, _ in mistakes_of(refused.value)]
    assert paths == ["closed_loop.requests.0.take", "closed_loop.requests.1.path"]


def test_what_a_journey_takes_keeps_its_words_in_json() -> None:
    journey = read(request({"path": "/a", "take": {"token": {"json": "$.a[0].b"}}}))
    text = WORKLOAD.dump_json(journey)
    assert b'"token":{"json":"$.a[0].b"' in text
    assert WORKLOAD.validate_json(text) == journey


def test_a_mix_is_plain_when_only_paths_and_weights_differ() -> None:
    assert ClosedLoop(requests=(HttpRequest(path="/a", weight=3), HttpRequest(path="/b"))).is_plain
    assert not ClosedLoop(requests=(HttpRequest(), HttpRequest(method="POST"))).is_plain
    assert not ClosedLoop(requests=(HttpRequest(headers={"A": "1"}), HttpRequest())).is_plain
    assert not ClosedLoop(requests=(HttpRequest(expect=302),)).is_plain
    form = HttpRequest(method="POST", form={"a": "b"})
    assert ClosedLoop(requests=(form, form.model_copy(update={"path": "/b"}))).is_plain
    assert not ClosedLoop(requests=(form, form.model_copy(update={"form": {"a": "c"}}))).is_plain


def test_a_ladder_is_one_closed_loop_a_rung() -> None:
    ladder = Ladder(kind="ladder", concurrencies=(10, 20), keep_alive=True)
    assert rungs(ladder) == {
        10: ClosedLoop(concurrency=10, keep_alive=True),
        20: ClosedLoop(concurrency=20, keep_alive=True),
    }


def test_paths_are_one_closed_loop_a_request() -> None:
    found = read({"kind": "paths", "concurrency": 9, "requests": [{"path": "/a"}, {"path": "/b"}]})
    assert rungs(found) == {
        path: ClosedLoop(concurrency=9, requests=(HttpRequest(path=path),)) for path in ("/a", "/b")
    }
    assert connections(found) == 9
    assert at_rung(found, "/b") == rungs(found)["/b"]


@pytest.mark.parametrize(
    ("own", "asked", "sent"),
    [(False, True, True), (True, False, False), (True, None, True), (False, None, False)],
)
def test_a_client_keeps_connections_as_its_arm_says(
    own: bool, asked: bool | None, sent: bool
) -> None:
    assert wants_kept(with_keep_alive(ClosedLoop(keep_alive=own), asked)) is sent


@pytest.mark.parametrize(
    ("document", "field", "twice"),
    [
        ({"kind": "closed_loop", "concurrency": 8}, "concurrency", 16),
        ({"kind": "closed_loop", "concurrency": 9_000}, "concurrency", 10_000),
        ({"kind": "open_loop", "rate_rps": 50}, "rate_rps", 100.0),
        ({"kind": "ladder", "concurrencies": [10, 9_000]}, "concurrencies", (20, 10_000)),
        ({"kind": "burst", "users": 500}, "users", 1_000),
        ({"kind": "journey", "users": 3}, "users", 6),
    ],
)
def test_a_load_may_be_scaled_within_its_bounds(
    document: dict[str, Any], field: str, twice: object
) -> None:
    assert getattr(scaled(read(document), 2.0), field) == twice


def test_half_of_one_connection_is_one() -> None:
    assert scaled(ClosedLoop(concurrency=1), 0.5) == ClosedLoop(concurrency=1)


def test_everything_else_is_its_own_only_rung() -> None:
    assert rungs(ClosedLoop()) == {None: ClosedLoop()}
