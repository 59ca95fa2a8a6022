"""The stats document of uWSGI 2.0.31."""

import json
from typing import Any

import pytest

from tuner.uwsgi.topology import parse


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
