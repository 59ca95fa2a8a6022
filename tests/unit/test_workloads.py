"""What may be sent, and what is refused before anything starts."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from tuner.model import (
    Burst,
    ClosedLoop,
    HttpRequest,
    Journey,
    Ladder,
    OpenLoop,
    Workload,
    connections,
    mistakes_of,
    rungs,
)

WORKLOAD = TypeAdapter[Workload](Workload)
GET, POST = {"path": "/a"}, {"path": "/a", "method": "POST", "body": "{}"}


def read(document: dict[str, Any]) -> Workload:
    return WORKLOAD.validate_python(document)


@pytest.mark.parametrize(
    ("document", "kind", "open_at_once"),
    [
        ({"kind": "closed_loop", "concurrency": 7, "keep_alive": True}, ClosedLoop, 7),
        ({"kind": "open_loop", "rate_rps": 10, "concurrency": 9}, OpenLoop, 9),
        ({"kind": "ladder", "concurrencies": [100, 1000, 10_000]}, Ladder, 10_000),
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
        ({"kind": "open_loop", "rate_rps": 5, "requests": [GET, POST]}, "fixed rate"),
        ({"kind": "open_loop", "rate_rps": 5, "requests": [{**GET, "expect": 404}]}, "fixed rate"),
        ({"kind": "closed_loop", "concurrency": 10_001}, "10000"),
        ({"kind": "closed_loop", "requests": [{"path": "a"}]}, "starts with '/'"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_a_reason(document: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        read(document)
    assert words in str(mistakes_of(refused.value))


def test_a_mix_is_plain_when_only_paths_and_weights_differ() -> None:
    assert ClosedLoop(requests=(HttpRequest(path="/a", weight=3), HttpRequest(path="/b"))).is_plain
    assert not ClosedLoop(requests=(HttpRequest(), HttpRequest(method="POST"))).is_plain
    assert not ClosedLoop(requests=(HttpRequest(headers={"A": "1"}), HttpRequest())).is_plain
    assert not ClosedLoop(requests=(HttpRequest(expect=302),)).is_plain


def test_a_ladder_is_one_closed_loop_a_rung() -> None:
    ladder = Ladder(kind="ladder", concurrencies=(10, 20), keep_alive=True)
    assert rungs(ladder) == (
        ClosedLoop(concurrency=10, keep_alive=True),
        ClosedLoop(concurrency=20, keep_alive=True),
    )


def test_everything_else_is_its_own_only_rung() -> None:
    assert rungs(ClosedLoop()) == (ClosedLoop(),)
