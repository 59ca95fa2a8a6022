"""The stats document of uWSGI 2.0.31."""

import json
from typing import Any

import pytest

from tuner.uwsgi.stats import parse


def worker(**changes: Any) -> dict[str, Any]:
    base = {
        "accepting": 1,
        "status": "idle",
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
    assert (stats.processes, stats.cores, stats.requests, stats.respawns) == (2, 4, 12, 2)
    assert stats.running_us == 140


def test_ready_means_that_every_process_accepts() -> None:
    assert parse(document(worker(), worker())).is_ready
    assert not parse(document(worker(), worker(accepting=0))).is_ready


def test_processes_put_to_sleep_by_cheaper_do_not_hold_up_readiness() -> None:
    assert parse(document(worker(), worker(accepting=0, status="cheap"))).is_ready
    assert not parse(document(worker(accepting=0, status="cheap"))).is_ready


@pytest.mark.parametrize("text", ["{}", "[]", "not json", '{"workers": [{}]}'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)
