"""oha's output, from real runs of 1.16.0."""

import json
from typing import Any

import pytest

from tuner.load.results import error_class, parse

DOCUMENT: dict[str, Any] = {
    "summary": {"successRate": 1.0, "total": 2.5, "requestsPerSec": 16.0},
    "latencyPercentiles": {"p50": 0.4, "p95": 0.5, "p99": 0.6},
    "latencyPercentilesSuccessful": {"p50": 0.002, "p95": 0.003, "p99": 0.004},
    "statusCodeDistribution": {"200": 20, "204": 2, "500": 10, "302": 1},
    "errorDistribution": {
        "Connection refused (os error 111)": 3,
        "connection error: Connection reset by peer (os error 104)": 4,
        "connection error": 1,
        "timeout": 2,
    },
}


def test_successes_are_2xx_and_latencies_theirs() -> None:
    result = parse(json.dumps(DOCUMENT))
    assert result.duration_s == 2.5
    assert result.requests == 22
    assert result.latency_p50_ms == pytest.approx(2.0)
    assert result.latency_p99_ms == pytest.approx(4.0)
    assert result.errors_by_class == {
        "http_302": 1,
        "http_500": 10,
        "refused": 3,
        "reset": 5,
        "timeout": 2,
    }


def test_without_a_success_there_is_no_latency() -> None:
    none = {"p50": None, "p95": None, "p99": None}
    result = parse(json.dumps({**DOCUMENT, "latencyPercentilesSuccessful": none}))
    assert result.latency_p95_ms is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"summary": null}'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not oha's output"):
        parse(text)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Connection refused (os error 111)", "refused"),
        ("Cannot assign requested address (os error 99)", "ports_exhausted"),
        ("connection closed before message completed", "early_close"),
        ("error reading a body from connection", "truncated"),
        ("connection error", "reset"),
        ("timeout", "timeout"),
        ("aborted due to deadline", "deadline"),
        ("operation was canceled", "other"),
    ],
)
def test_error_classes(message: str, name: str) -> None:
    assert error_class(message) == name
