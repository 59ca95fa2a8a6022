"""The stats document of uWSGI 2.0.31."""

import json
from typing import Any

import pytest

from tuner.uwsgi.topology import activity_of, parse


def worker(**changes: Any) -> dict[str, Any]:
    base = {
        "requests": 5,
        "respawn_count": 1,
        "running_time": 70,
        "cores": [{"id": 0}, {"id": 1}],
    }
    return {**base, **changes}


def document(*workers: dict[str, Any]) -> str:
    return json.dumps({"version": "2.0.31", "workers": workers})


def test_counters_are_summed_over_processes() -> None:
    stats = parse(document(worker(), worker(requests=7, respawn_count=3)))
    assert (stats.cores, stats.requests, stats.respawns) == (4, 12, 2)
    assert stats.running_us == 140


@pytest.mark.parametrize("text", ["{}", "[]", "not json", '{"workers": [{}]}'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


def busy(*variables: str) -> dict[str, Any]:
    return {"in_request": 1, "vars": [*variables, ""]}


def test_a_look_counts_the_processes_that_are_awake() -> None:
    asleep = worker(status="cheap", pid=8, cores=[busy("PATH_INFO=/")])
    found = activity_of(document(worker(status="idle", pid=7), asleep))
    assert (found.processes, found.slots, found.requests, found.workers) == (1, 2, (), (7,))
    assert found.counters.cores == 3


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/", "GET /"),
        ("/shop/shoes/7", "GET /shop/*"),
        ("/7f3a", "GET /*"),
        ("/me@example.org/x", "GET /*/*"),
        ("/abcdefghijklmnopqrstuvwxyzabcdef", "GET /*"),
    ],
)
def test_a_request_under_way_is_named_without_ids_and_secrets(path: str, shown: str) -> None:
    core = busy("REQUEST_METHOD=GET", f"PATH_INFO={path}", "QUERY_STRING=token=x")
    assert activity_of(document(worker(cores=[core, {"id": 1}]))).requests == (shown,)


def test_the_queues_have_the_names_of_their_sockets() -> None:
    sockets = [{"name": ":8000", "queue": 3, "max_queue": 100}, {"name": "/run/a.sock"}]
    text = json.dumps({"workers": [worker()], "sockets": sockets})
    assert activity_of(text).queues == {":8000": (3, 100), "/run/a.sock": (0, 0)}
