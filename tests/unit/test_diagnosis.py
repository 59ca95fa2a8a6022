"""Counters to the bottleneck."""

from typing import Any

import pytest

from tests.builders import window
from tuner.diagnosis import diagnose
from tuner.model import Bottleneck, Limits

LIMITS = Limits(cpus=1.0, memory_mb=512)


@pytest.mark.parametrize(
    ("seen", "threads", "bottleneck"),
    [
        ({"requests": 90, "errors": 10}, 1, Bottleneck.APP_ERRORS),
        ({"memory_mb": 520.0}, 1, Bottleneck.MEMORY),
        ({"target_cpu": 0.97, "busy": 1.0}, 1, Bottleneck.CPU_QUOTA),
        ({"throttled": 0.5, "target_cpu": 0.8}, 1, Bottleneck.CPU_QUOTA),
        ({"client_cpu": 0.95, "busy": 0.4}, 1, Bottleneck.LOAD_GENERATOR),
        ({"target_cpu": 0.7, "busy": 0.95}, 8, Bottleneck.GIL),
        ({"target_cpu": 0.1, "busy": 1.0}, 1, Bottleneck.IO_WAIT),
        ({"listen_overflows": 4, "busy": 0.3}, 1, Bottleneck.BACKLOG),
        ({}, 1, Bottleneck.UNKNOWN),
    ],
)
def test_each_bottleneck_shows_in_its_counters(
    seen: dict[str, Any], threads: int, bottleneck: Bottleneck
) -> None:
    found = diagnose([window(**seen)] * 3, LIMITS, threads=threads)
    assert found.bottleneck is bottleneck
    assert found.sentence


def test_the_evidence_is_what_was_watched() -> None:
    found = diagnose([window(busy=None, target_cpu=0.97)], LIMITS)
    assert found.evidence["target_cpu"] == 0.97
    assert "busy" not in found.evidence


def test_without_windows_nothing_is_known() -> None:
    assert diagnose([], LIMITS).bottleneck is Bottleneck.UNKNOWN


def test_a_slot_for_every_connection_leaves_only_the_workload_as_the_limit() -> None:
    found = diagnose([window()] * 3, LIMITS, processes=8, threads=2, connections=16)
    assert found.bottleneck is Bottleneck.CONCURRENCY
    busy = diagnose([window(target_cpu=0.95)], LIMITS, processes=8, threads=2, connections=16)
    assert busy.bottleneck is Bottleneck.CPU_QUOTA
    fewer = diagnose([window()], LIMITS, processes=8, threads=1, connections=16)
    assert fewer.bottleneck is Bottleneck.UNKNOWN
